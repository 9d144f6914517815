//! `lowrho k6-script`, done: the script, the bodies that it opens, the command that runs it. Sends nothing.

use super::curl::variable;
use super::words::{aside, print};
use super::{Exit, Invocation};
use crate::foreign::{ScriptHeader, ScriptLoad, ScriptParts, k6_script};
use crate::plan::Plan;
use crate::report::terminal::clean;
use crate::schedule::{Extent, Load};
use crate::time::Span;
use crate::workload::Request;
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of bodies that are kept: k6 holds them in memory twice while it starts.
const MOST_BYTES: usize = 64 << 20;

/// What a script was asked for, beside its plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct K6Script {
    /// Where the script goes; the bodies go beside it.
    pub script: PathBuf,
    /// How long a request is expected to take.
    pub e2e: Span,
}

/// Writes the script and its bodies.
pub(super) fn write(plan: &Plan, how: &Invocation, asked: &K6Script) -> io::Result<Exit> {
    match made(plan, how, asked) {
        Ok(differs) => {
            for one in differs {
                aside(format_args!("note: {}", clean(&one)));
            }
            let script = asked.script.display();
            let summary = asked.script.with_extension("summary.json");
            let summary = summary.display();
            print(&format!("k6 run --no-usage-report --summary-export {summary} {script}\n"))?;
            Ok(Exit::Good)
        }
        Err(why) => {
            aside(format_args!("error: {}", clean(&why)));
            Ok(Exit::BadPlan)
        }
    }
}

fn made(plan: &Plan, how: &Invocation, asked: &K6Script) -> Result<Vec<String>, String> {
    if plan.sim.is_some() {
        return Err("--sim: k6 cannot start it; run lowrho sim, and give its URL by --url".into());
    }
    let model = plan.target.model.as_deref().ok_or(
        "--model (target.model in a file): not given, and a script asks no server for it: name the model",
    )?;
    let load = load(plan)?;
    let bodies_path = asked.script.with_extension("bodies.json");
    let workload = plan.workload(model, "k6", how.prompts.as_deref()).map_err(|why| why.to_string())?;

    let mut request = Request::new();
    workload.request(0, &mut request);
    let headers = headers(plan, &request.to_bytes());
    let mut bodies: Vec<Value> = Vec::new();
    let mut bytes = 0_usize;
    for index in 0..load.requests() {
        workload.request(index, &mut request);
        let body = String::from_utf8(request.body()).map_err(|_| "a body is no text")?;
        bytes += body.len();
        if bytes > MOST_BYTES && !bodies.is_empty() {
            break;
        }
        bodies.push(Value::String(body));
    }
    let name = bodies_path.file_name().map(|name| format!("./{}", name.to_string_lossy()));
    let parts = ScriptParts {
        headers,
        bodies: name.ok_or("--script: it names no file")?,
        load,
        kept: bodies.len() as u64,
        bytes: bytes as u64,
        e2e: asked.e2e,
        vus: None,
    };
    let script = k6_script(plan, &parts).map_err(|why| why.to_string())?;
    new_file(&bodies_path, |file| serde_json::to_writer(file, &bodies).map_err(io::Error::from))?;
    new_file(&asked.script, |file| file.write_all(script.text.as_bytes()))?;
    Ok(script.differs)
}

/// The load, where k6's constant-arrival-rate can keep it.
fn load(plan: &Plan) -> Result<ScriptLoad, &'static str> {
    let [stage] = plan.load.stages.as_slice() else {
        return Err("a script holds one rate: leave one [[stage]], or give --rate");
    };
    let Load::Open { rate_per_s, process } = stage.load else {
        return Err("a script drives an open loop: give --rate instead of --concurrency");
    };
    if rate_per_s.from().total_cmp(&rate_per_s.to()).is_ne() {
        return Err("a script holds one rate: leave rate-end out");
    }
    if plan.load.max_concurrency.is_some() {
        return Err("a request of k6 is dropped where one of lowrho's waits: leave --max-concurrency out");
    }
    let rate_per_s = rate_per_s.from();
    let window = match stage.extent {
        Extent::Duration(span) => span,
        Extent::Requests(n) => Span::from_s_f64(counted(n) / rate_per_s),
    };
    Ok(ScriptLoad { rate_per_s, process: process.to_string(), window, warmup: stage.warmup })
}

#[expect(clippy::cast_precision_loss, reason = "at most a thousand million requests")]
const fn counted(n: u64) -> f64 {
    n as f64
}

/// The headers of a request of ours, but for those that k6 writes itself and the number of the request.
fn headers(plan: &Plan, request: &[u8]) -> Vec<ScriptHeader> {
    const K6S: [&str; 4] = ["host", "content-length", "connection", "x-request-id"];
    let end = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(request.len());
    let head = String::from_utf8_lossy(&request[..end]).into_owned();
    let endpoint = &plan.target.endpoints[0];
    head.lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| !K6S.contains(&name.to_ascii_lowercase().as_str()))
        .map(|(name, value)| {
            let secret = plan.target.headers_of(endpoint).find(|header| header.secret && header.name == name);
            let (value, variable) = match secret {
                None => (value.trim().to_owned(), None),
                Some(header) => {
                    let scheme = if super::curl::is_bearer(header) { "Bearer " } else { "" };
                    (scheme.to_owned(), Some(variable(header)))
                }
            };
            ScriptHeader { name: name.to_owned(), value, variable }
        })
        .collect()
}

/// Writes a file that must not be there yet.
fn new_file(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<std::fs::File>) -> io::Result<()>,
) -> Result<(), String> {
    let write = || {
        let mut file = BufWriter::new(OpenOptions::new().write(true).create_new(true).open(path)?);
        fill(&mut file)?;
        file.flush()
    };
    write().map_err(|error| format!("cannot write {}: {error}", path.display()))
}
