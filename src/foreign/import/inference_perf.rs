//! A configuration of inference-perf (0.7.0, YAML) to options of ours.
//!
//! It must not pass over a key: one that is neither taken over nor known not to matter is told.

use super::{ImportError, Imported, number, yaml};
use crate::plan::{StageOptions, Text};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A document, and which of its keys were looked at.
struct Document {
    root: Value,
    seen: RefCell<BTreeSet<String>>,
}

impl Document {
    /// The value at `/a/b`, unless it is null.
    fn get(&self, path: &str) -> Option<&Value> {
        self.seen.borrow_mut().insert(path.to_owned());
        self.root.pointer(path).filter(|value| !value.is_null())
    }

    fn text(&self, path: &str) -> Result<Option<&str>, ImportError> {
        let Some(value) = self.get(path) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| wrong(path, value, "a text"))
    }

    fn number(&self, path: &str) -> Result<Option<f64>, ImportError> {
        let Some(value) = self.get(path) else { return Ok(None) };
        value.as_f64().map(Some).ok_or_else(|| wrong(path, value, "a number"))
    }

    fn truth(&self, path: &str) -> Result<Option<bool>, ImportError> {
        let Some(value) = self.get(path) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| wrong(path, value, "true or false"))
    }

    /// The paths of every value that was not looked at.
    fn unseen(&self) -> Vec<String> {
        let mut found = Vec::new();
        leaves(&self.root, String::new(), &self.seen.borrow(), &mut found);
        found
    }
}

fn leaves(value: &Value, path: String, seen: &BTreeSet<String>, found: &mut Vec<String>) {
    if seen.contains(&path) || value.is_null() {
        return;
    }
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                leaves(value, format!("{path}/{key}"), seen, found);
            }
        }
        _ => found.push(path),
    }
}

fn wrong(path: &str, value: &Value, wanted: &str) -> ImportError {
    ImportError::new(format!("{}: {value} is not {wanted}", dotted(path)))
}

fn dotted(path: &str) -> String {
    path.trim_start_matches('/').replace('/', ".")
}

/// Makes options of a configuration.
///
/// # Errors
/// Text that is no YAML, values of another kind, an API or a load that cannot be driven here.
pub fn inference_perf(text: &str) -> Result<Imported, ImportError> {
    let root = yaml::value(text)?;
    if !["load", "server", "api", "data"].iter().any(|key| root.get(key).is_some_and(Value::is_object)) {
        return Err(ImportError::new(
            "it is no configuration of inference-perf: it has none of load, server, api, data",
        ));
    }
    let document = Document { root, seen: RefCell::default() };
    let mut imported = Imported::default();
    target(&document, &mut imported)?;
    load(&document, &mut imported)?;
    payload(&document, &mut imported)?;
    levels(&document, &mut imported)?;
    leave(&document, &mut imported);
    Ok(imported)
}

fn target(document: &Document, imported: &mut Imported) -> Result<(), ImportError> {
    let api = match document.text("/api/type")?.unwrap_or("completion") {
        "completion" => "completions",
        "chat" => "chat",
        other => {
            return Err(ImportError::new(format!(
                "api.type: {other} is not driven here; completion and chat are"
            )));
        }
    };
    imported.raw.target.api = Some(api.into());
    imported.raw.target.url = document.text("/server/base_url")?.map(Text::from).into_iter().collect();
    imported.raw.target.model = document.text("/server/model_name")?.map(Text::from);
    if let Some(seconds) = document.number("/load/request_timeout")? {
        imported.raw.target.timeout = Some(seconds_text(seconds));
    }
    if let Some(headers) = document.get("/api/headers") {
        let Value::Object(headers) = headers else { return Err(wrong("/api/headers", headers, "a mapping")) };
        for (name, value) in headers {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            imported.header("api.headers", name, &value);
        }
    }
    if document.text("/server/api_key")?.is_some() {
        imported
            .missing("server.api_key: a secret is not written into a file; give --api-key or OPENAI_API_KEY");
    }
    if document.truth("/api/streaming")? != Some(true) {
        imported.missing("api.streaming false: answers are streamed here");
    }
    Ok(())
}

fn load(document: &Document, imported: &mut Imported) -> Result<(), ImportError> {
    if let Some(seed) = document.get("/load/base_seed") {
        let seed = seed.as_u64().ok_or_else(|| wrong("/load/base_seed", seed, "a count"))?;
        imported.raw.load.seed = Some(Text(seed.to_string()));
    }
    if document.get("/load/sweep").is_some() {
        imported.missing(
            "load.sweep: lowrho sweep --auto finds the stability limit, and the capacity under --slo",
        );
    }
    let kind = document.text("/load/type")?.unwrap_or("constant");
    let stages = match document.get("/load/stages") {
        None => &[][..],
        Some(Value::Array(stages)) => stages.as_slice(),
        Some(other) => return Err(wrong("/load/stages", other, "a list")),
    };
    match kind {
        "constant" | "poisson" => {
            imported.raw.load.arrival = Some(kind.into());
            if kind == "constant" {
                imported.differs("load.type constant: gaps are all alike here; there they are exponential, scaled to fill the stage");
            }
            open(stages, imported)?;
            if let Some(most) = document.number("/load/worker_max_concurrency")? {
                imported.differs(format!(
                    "load.worker_max_concurrency {}: a worker's slots close the loop there; here nothing does unless \
                     load.max-concurrency is given",
                    number(most)
                ));
            }
        }
        "concurrent" => closed(stages, imported)?,
        other => {
            return Err(ImportError::new(format!(
                "load.type: {other} has no equivalent; constant, poisson and concurrent have"
            )));
        }
    }
    if document.number("/load/interval")?.is_some_and(|pause| pause > 0.0) && stages.len() > 1 {
        imported.missing("load.interval: stages follow each other without a pause");
    }
    Ok(())
}

fn open(stages: &[Value], imported: &mut Imported) -> Result<(), ImportError> {
    let field = |stage: &Value, n: usize, key: &str| {
        let number = stage.get(key).and_then(Value::as_f64).filter(|number| *number > 0.0);
        number.ok_or_else(|| ImportError::new(format!("load.stages[{n}].{key}: is not a number above 0")))
    };
    let mut made = Vec::new();
    for (n, stage) in stages.iter().enumerate() {
        others(&format!("load.stages[{n}]"), stage, &["rate", "duration"], imported);
        let (rate, duration) =
            (Text(number(field(stage, n, "rate")?)), seconds_text(field(stage, n, "duration")?));
        made.push((rate, duration));
    }
    match made.as_slice() {
        [] => {}
        [(rate, duration)] => {
            imported.raw.load.rate = Some(rate.clone());
            imported.raw.load.duration = Some(duration.clone());
        }
        several => {
            let stage = |(rate, duration): &(Text, Text)| StageOptions {
                rate: Some(rate.clone()),
                duration: Some(duration.clone()),
                ..StageOptions::default()
            };
            imported.raw.stage = several.iter().map(stage).collect();
        }
    }
    Ok(())
}

fn closed(stages: &[Value], imported: &mut Imported) -> Result<(), ImportError> {
    let [stage, rest @ ..] = stages else { return Ok(()) };
    let field = |key: &str| {
        let count = stage.get(key).and_then(Value::as_u64).filter(|count| *count > 0);
        count.ok_or_else(|| ImportError::new(format!("load.stages[0].{key}: is not a count above 0")))
    };
    imported.raw.load.concurrency = Some(Text(field("concurrency_level")?.to_string()));
    imported.raw.load.requests = Some(Text(field("num_requests")?.to_string()));
    others("load.stages[0]", stage, &["concurrency_level", "num_requests"], imported);
    if !rest.is_empty() {
        imported.missing(format!(
            "load.stages after the first ({} of them): stages of a closed loop have a length here, not a number of requests",
            rest.len()
        ));
    }
    Ok(())
}

fn payload(document: &Document, imported: &mut Imported) -> Result<(), ImportError> {
    // Theirs is sent unless it is turned off.
    if document.truth("/server/ignore_eos")? == Some(false) {
        imported.raw.payload.no_ignore_eos = Some(true);
    }
    match document.text("/data/type")?.unwrap_or("mock") {
        "random" | "synthetic" => {
            for (path, is_input) in [("/data/input_distribution", true), ("/data/output_distribution", false)] {
                if let Some(law) = document.get(path) {
                    let law = distribution(path, law, imported)?;
                    let payload = &mut imported.raw.payload;
                    *(if is_input { &mut payload.input_tokens } else { &mut payload.output_tokens }) = Some(Text(law));
                }
            }
            imported.differs("data.input_distribution: prompts are words of about so many tokens, no tokenizer's exact count");
        }
        "mock" => {}
        other => imported.missing(format!(
            "data.type {other}: this data is not read; prompts are made up unless --prompts names a file of lines \
             {{\"prompt\", \"output_tokens\"}}"
        )),
    }
    Ok(())
}

/// Lists the keys of a mapping that are not `known` as without an equivalent.
fn others(place: &str, mapping: &Value, known: &[&str], imported: &mut Imported) {
    let keys = mapping.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    for (key, _) in keys.filter(|(key, _)| !known.contains(&key.as_str())) {
        imported.missing(format!("{place}.{key}"));
    }
}

/// A law of lengths in our words.
fn distribution(path: &str, law: &Value, imported: &mut Imported) -> Result<String, ImportError> {
    let Value::Object(entries) = law else { return Err(wrong(path, law, "a mapping")) };
    let place = dotted(path);
    others(&place, law, &["type", "min", "max", "mean", "std_dev", "variance", "total_count"], imported);
    if entries.get("total_count").is_some_and(|count| !count.is_null()) {
        imported.unneeded(format!("{place}.total_count: lengths are drawn as long as requests are due"));
    }
    let field = |key: &str, default: f64| match entries.get(key).filter(|value| !value.is_null()) {
        None => Ok(default),
        Some(value) => value.as_f64().ok_or_else(|| wrong(&format!("{path}/{key}"), value, "a number")),
    };
    let (min, max, mean) = (field("min", 10.0)?, field("max", 1_024.0)?, field("mean", 512.0)?);
    let sd = match field("variance", -1.0)? {
        variance if variance >= 0.0 => libm::sqrt(variance),
        _ => field("std_dev", 200.0)?,
    };
    if min > max {
        let (min, max) = (number(min), number(max));
        return Err(ImportError::new(format!("{place}: min {min} is above max {max}: exchange them")));
    }
    if let Some((key, value)) =
        [("min", min), ("mean", mean), ("std_dev", sd)].into_iter().find(|one| one.1 < 0.0)
    {
        return Err(ImportError::new(format!("{place}.{key}: {} is not a number from 0", number(value))));
    }
    let kind = match entries.get("type").filter(|kind| !kind.is_null()) {
        None => "normal",
        Some(kind) => kind.as_str().ok_or_else(|| wrong(&format!("{path}/type"), kind, "a text"))?,
    };
    let whole = |length: f64| number(libm::round(length));
    if kind == "fixed" || (kind != "uniform" && sd == 0.0) || min == max {
        return Ok(whole(mean.clamp(min, max)));
    }
    Ok(match kind {
        "uniform" => format!("uniform:{}:{}", whole(min), whole(max)),
        "normal" | "lognormal" => {
            imported.differs(format!(
                "{place}: lengths are not cut to {} to {} here",
                whole(min),
                whole(max)
            ));
            format!("{kind}:{}:{}", number(mean), number(sd))
        }
        other => {
            imported.missing(format!("{place}.type {other}: lengths are all {} here", whole(mean)));
            whole(mean)
        }
    })
}

fn levels(document: &Document, imported: &mut Imported) -> Result<(), ImportError> {
    let mut terms = Vec::new();
    for (key, metric) in [
        ("ttft", "ttft"),
        ("tpot", "tpot"),
        ("itl", "itl"),
        ("ntpot", "ntpot_sent"),
        ("request_latency", "e2e_end"),
    ] {
        if let Some(seconds) = document.number(&format!("/report/goodput/constraints/{key}"))? {
            terms.push(format!("{metric}_p99<{}", seconds_text(seconds).0));
        }
    }
    if !terms.is_empty() {
        imported.raw.verdict.slo = Some(Text(terms.join(",")));
        imported.differs("report.goodput: the bounds hold each request as there; the p99 decides the exit status, which there nothing does");
    }
    Ok(())
}

/// What does not matter here, and what was not looked at.
fn leave(document: &Document, imported: &mut Imported) {
    for (prefix, why) in [
        ("/server/type", "any server of this API is driven alike"),
        ("/tokenizer", "lowrho has no tokenizer: lengths are the server's counts"),
        ("/load/num_workers", "a shard is a core (client.shards)"),
        ("/load/worker_max_concurrency", "connections are as many as the load needs (client.connections)"),
        (
            "/load/worker_max_tcp_connections",
            "connections are as many as the load needs (client.connections)",
        ),
        ("/load/interval", "there is one stage"),
        (
            "/report/request_lifecycle",
            "every metric and quantile is always told, and every request has a row",
        ),
        ("/storage/local_storage", "a run leaves its own directory (output.out)"),
    ] {
        let parent_is_seen = document.seen.borrow().contains(prefix);
        if document.get(prefix).is_some() && !parent_is_seen {
            imported.unneeded(format!("{}: {why}", dotted(prefix)));
        }
    }
    for path in document.unseen() {
        imported.missing(dotted(&path));
    }
}

fn seconds_text(seconds: f64) -> Text {
    Text(format!("{}s", number(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Raw;

    const CONFIG: &str = "
load: {type: poisson, interval: 5, num_workers: 4, stages: [{rate: 10, duration: 60}]}
api: {type: chat, streaming: true, headers: {x-team: a}}
server: {type: vllm, model_name: m, base_url: 'http://h:8000', ignore_eos: true}
tokenizer: {pretrained_model_name_or_path: m}
data:
  type: random
  input_distribution: {min: 100, max: 100, mean: 100, std_dev: 0, total_count: 10}
  output_distribution: {type: uniform, min: 10, max: 50}
report: {request_lifecycle: {summary: true}, goodput: {constraints: {ttft: 0.5}}}
metrics: {type: prometheus}
";

    #[test]
    fn a_usual_configuration_is_taken_over() {
        let imported = inference_perf(CONFIG).unwrap();
        let raw = Raw::from_toml(&imported.text("it")).unwrap();
        let wanted = Raw::from_toml(
            "[target]\nurl = \"http://h:8000\"\napi = \"chat\"\nmodel = \"m\"\nheader = [\"x-team: a\"]\n\
             [load]\nrate = 10\narrival = \"poisson\"\nduration = \"60s\"\n\
             [payload]\ninput-tokens = 100\noutput-tokens = \"uniform:10:50\"\n\
             [verdict]\nslo = \"ttft_p99<0.5s\"",
        )
        .unwrap();
        assert_eq!(raw, wanted, "{}", imported.text("it"));
        assert_eq!(imported.missing, ["metrics.type"]);
    }

    #[test]
    fn several_stages_and_a_closed_loop() {
        let two =
            inference_perf("load: {stages: [{rate: 1, duration: 5}, {rate: 2.5, duration: 5}]}").unwrap();
        assert_eq!(two.raw.stage.len(), 2);
        assert_eq!(two.raw.stage[1].rate, Some("2.5".into()));
        let closed = inference_perf(
            "load: {type: concurrent, stages: [{num_requests: 50, concurrency_level: 5}, {}]}",
        )
        .unwrap();
        assert_eq!(
            (closed.raw.load.concurrency, closed.raw.load.requests),
            (Some("5".into()), Some("50".into()))
        );
        assert!(closed.missing.iter().any(|one| one.contains("after the first")));
    }

    #[test]
    fn a_key_that_nobody_knows_is_told_wherever_it_stands() {
        let found = inference_perf(
            "load: {stages: [{rate: 1, duration: 5, ramp: 3}]}\n\
             data: {type: random, input_distribution: {mean: 100, std: 2, total_count: 5}}",
        )
        .unwrap();
        for key in ["load.stages[0].ramp", "data.input_distribution.std"] {
            assert!(found.missing.iter().any(|one| one == key), "{key}: {:?}", found.missing);
        }
        assert!(found.unneeded.iter().any(|one| one.starts_with("data.input_distribution.total_count: ")));
    }

    #[test]
    fn a_law_that_no_length_keeps_is_refused_with_its_key() {
        for (law, told) in [
            ("{min: 50, max: 5}", "data.output_distribution: min 50 is above max 5"),
            ("{std_dev: -1}", "data.output_distribution.std_dev: -1 is not a number from 0"),
            ("{min: -3}", "data.output_distribution.min: -3 is not a number from 0"),
            ("{type: 5}", "data.output_distribution.type: 5 is not a text"),
            ("{mean: many}", "data.output_distribution.mean: \"many\" is not a number"),
        ] {
            let text = format!("data: {{type: random, output_distribution: {law}}}");
            let why = inference_perf(&text).unwrap_err().to_string();
            assert!(why.starts_with(told), "{law}: {why}");
        }
    }

    #[test]
    fn what_cannot_be_driven_or_is_wrong_is_refused() {
        for bad in [
            "a: 1",
            "load: {type: trace_replay}",
            "api: {type: anthropic_messages}",
            "load: {stages: [{rate: fast, duration: 1}]}",
            "load: {stages: 5}",
            "load: {base_seed: -1}",
            "server: {base_url: 5}",
            "api: {headers: 5}",
            "data: {type: random, input_distribution: 5}",
        ] {
            assert!(inference_perf(bad).is_err(), "{bad}");
        }
    }
}
