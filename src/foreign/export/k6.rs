//! As k6 writes `--summary-export` (the legacy form, which 1.1.0 to 2.2.0 share).
//!
//! It must not mix failures into latencies: where requests failed, what k6 would tell of all of them is left out.

use super::{MAX, MEAN, MIN, P50, P90, P95, P99, P99_9, Statistic, failed, told, window_s};
use crate::foreign::MS;
use crate::foreign::reading::float;
use crate::report::{Distribution, Summary};
use serde_json::{Map, Value, json};

const STATISTICS: [(&str, Statistic); 8] = [
    ("avg", MEAN),
    ("min", MIN),
    ("med", P50),
    ("max", MAX),
    ("p(90)", P90),
    ("p(95)", P95),
    ("p(99)", P99),
    ("p(99.9)", P99_9),
];

pub(super) fn value(summary: &Summary) -> Value {
    let total = &summary.total;
    let (done, failures) = (total.load.completed, failed(summary));
    let all = done.saturating_add(failures);
    let mut metrics = Map::new();
    let mut put = |name: &str, metric: Value| drop(metrics.insert(name.to_owned(), metric));
    let rate = window_s(summary).map(|s| float(all) / s);
    put("http_reqs", with_rate(all, rate));
    put("iterations", with_rate(all, rate));
    let share = if all == 0 { 0.0 } else { float(failures) / float(all) };
    put("http_req_failed", json!({ "passes": failures, "fails": done, "value": share }));
    let duration = trend(&total.latency.e2e_end_ns);
    put("http_req_duration{expected_response:true}", duration.clone());
    if failures == 0 {
        put("http_req_duration", duration);
        put("http_req_waiting", trend(&total.latency.head_ns));
    }
    metrics.retain(|_, metric| !metric.is_null());
    json!({
        "root_group": { "name": "", "path": "", "id": ROOT, "groups": {}, "checks": {} },
        "metrics": metrics,
    })
}

/// The id that k6 gives every root group: the MD5 of nothing.
const ROOT: &str = "d41d8cd98f00b204e9800998ecf8427e";

fn with_rate(count: u64, rate: Option<f64>) -> Value {
    let mut metric = json!({ "count": count });
    if let Some(rate) = rate {
        metric["rate"] = rate.into();
    }
    metric
}

fn trend(found: &Distribution) -> Value {
    if found.count == 0 { Value::Null } else { Value::Object(told(found, &STATISTICS, MS)) }
}
