//! The commands: the same load in the words of lowrho, k6, oha and wrk, with the files that each of them reads.
//!
//! It must not make the sides differ: bodies and headers are lowrho's own, connections as many, kept alive alike.

use crate::foreign::{ScriptHeader, ScriptLoad, ScriptParts, k6_script};
use crate::host::named_file;
use crate::plan::{BaselinePlan, Offered, Peer, Plan};
use crate::time::Span;
use crate::workload::Request;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bodies that a peer is given; after them it begins again. The same number at every rate: reading them is start-up.
const BODIES: u64 = 100;

/// More than any result, in bytes: they have no rows.
const LARGEST_RESULT: u64 = 16 << 20;

/// How a side is started, and where its result will be.
pub(super) struct Prepared {
    /// The command; its output streams are still to be said.
    pub(super) command: Command,
    /// The file of its result.
    pub(super) result: PathBuf,
}

/// What a run is: its load and how long it sends.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Load {
    /// The load.
    pub(super) offered: Offered,
    /// How long it sends.
    pub(super) length: Span,
}

/// Prepares lowrho's run with a coalescing window, its files in `folder`.
pub(super) fn ours(
    plan: &BaselinePlan,
    load: Load,
    window: &str,
    url: &str,
    folder: &Path,
) -> Result<Prepared, String> {
    let config = folder.join("run.toml");
    let results = folder.join("results");
    write(&config, &plan.options(load.offered, load.length, window, url).to_toml())?;
    let program = std::env::current_exe().map_err(|error| format!("lowrho's own program: {error}"))?;
    let mut command = Command::new(program);
    command.arg("run").arg("-c").arg(config).arg("--out").arg(&results);
    // A key of the environment would be sent by this side alone.
    command.env_remove("OPENAI_API_KEY");
    Ok(Prepared { command, result: results.join("summary.json") })
}

/// Prepares a peer's run; its result is a file of its own, or what it prints to `printed`.
pub(super) fn theirs(
    plan: &BaselinePlan,
    load: Load,
    (program, url): (&Path, &str),
    folder: &Path,
    printed: &Path,
) -> Result<Prepared, String> {
    let window = plan.windows.first().map_or("auto", String::as_str);
    let run = plan.run(load.offered, load.length, window, url).map_err(|error| error.to_string())?;
    let sent = Sent::of(&run, &plan.model, plan.due(load.offered, load.length))?;
    let endpoint = run.target.endpoints.first().map_or(url.to_owned(), |endpoint| endpoint.url());
    let connections = plan.connections(load.offered).to_string();
    let mut command = Command::new(program);
    let mut result = printed.to_path_buf();
    match (plan.peer, load.offered) {
        (Peer::K6, Offered::Rate(rate)) => {
            let script = folder.join("k6.js");
            result = folder.join("k6.summary.json");
            write(&folder.join("k6.bodies.json"), &sent.as_array())?;
            write(&script, &k6(&run, rate, load.length, plan.connections(load.offered), &sent)?)?;
            command.args(["run", "--quiet", "--no-usage-report", "--address", "", "--summary-export"]);
            command.arg(&result).arg(script);
        }
        (Peer::Oha, Offered::Rate(rate)) => {
            let bodies = folder.join("bodies.jsonl");
            write(&bodies, &sent.as_lines())?;
            let requests = plan.due(load.offered, load.length).unwrap_or(1).to_string();
            // It would start a thread for each core of the machine, whatever it is bound to; k6's runtime and lowrho look.
            command.env("TOKIO_WORKER_THREADS", plan.client_cpus.len().max(1).to_string());
            command.args([
                "-n",
                &requests,
                "-q",
                &rate.to_string(),
                "-c",
                &connections,
                "-m",
                "POST",
                "--no-tui",
            ]);
            command.args(["--output-format", "json", "-Z"]).arg(bodies);
            for header in &sent.headers {
                if header.name.eq_ignore_ascii_case("content-type") {
                    command.args(["-T", &header.value]);
                } else {
                    command.args(["-H", &format!("{}: {}", header.name, header.value)]);
                }
            }
            command.arg(&endpoint);
        }
        (Peer::Wrk, Offered::Slots(slots)) => {
            let (script, bodies) = (folder.join("wrk.lua"), folder.join("bodies.jsonl"));
            write(&bodies, &sent.as_lines())?;
            write(&script, &lua(&bodies, &sent.headers))?;
            // A thread drives at least one connection.
            let threads = u32::try_from(plan.client_cpus.len()).unwrap_or(1).clamp(1, slots);
            let seconds = format!("{}s", load.length.as_ns() / 1_000_000_000);
            command.args(["-t", &threads.to_string(), "-c", &connections, "-d", &seconds, "--latency", "-s"]);
            command.arg(script).arg(&endpoint);
        }
        (peer, offered) => return Err(format!("{} cannot drive {offered:?}", peer.name())),
    }
    Ok(Prepared { command, result })
}

/// What goes over the wire: lowrho's own headers and bodies.
struct Sent {
    headers: Vec<ScriptHeader>,
    bodies: Vec<String>,
}

impl Sent {
    fn of(run: &Plan, model: &str, due: Option<u64>) -> Result<Self, String> {
        let workload = run.workload(model, "peer", None).map_err(|why| why.to_string())?;
        let mut request = Request::new();
        workload.request(0, &mut request);
        let headers = headers(&request.to_bytes());
        let body = |index| {
            workload.request(index, &mut request);
            String::from_utf8(request.body()).map_err(|_| "a body is no text".to_owned())
        };
        let bodies = (0..due.unwrap_or(BODIES).min(BODIES)).map(body).collect::<Result<_, _>>()?;
        Ok(Self { headers, bodies })
    }

    fn as_array(&self) -> String {
        Value::from(self.bodies.clone()).to_string()
    }

    /// A body a line: JSON has no line ends of its own unless it is spread out, and lowrho's is not.
    fn as_lines(&self) -> String {
        self.bodies.iter().map(|body| format!("{body}\n")).collect()
    }
}

/// The headers of a request of ours, but for those that every client writes itself and the request's own number.
fn headers(request: &[u8]) -> Vec<ScriptHeader> {
    const OWN: [&str; 4] = ["host", "content-length", "connection", "x-request-id"];
    let end = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(request.len());
    let head = String::from_utf8_lossy(request.get(..end).unwrap_or_default()).into_owned();
    head.lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| !OWN.contains(&name.to_ascii_lowercase().as_str()))
        .map(|(name, value)| ScriptHeader {
            name: name.to_owned(),
            value: value.trim().to_owned(),
            variable: None,
        })
        .collect()
}

fn k6(run: &Plan, rate: u32, window: Span, vus: u32, sent: &Sent) -> Result<String, String> {
    let parts = ScriptParts {
        headers: sent.headers.clone(),
        bodies: "./k6.bodies.json".into(),
        load: ScriptLoad { rate_per_s: rate.into(), process: "constant".into(), window, warmup: Span::ZERO },
        kept: sent.bodies.len() as u64,
        bytes: sent.bodies.iter().map(|body| body.len() as u64).sum(),
        e2e: Span::from_s(1),
        vus: Some(vus.into()),
    };
    k6_script(run, &parts).map(|script| script.text).map_err(|why| why.to_string())
}

/// wrk's script: the bodies in turn.
fn lua(bodies: &Path, headers: &[ScriptHeader]) -> String {
    let headers: String = headers
        .iter()
        .map(|header| format!("wrk.headers[{}] = {}\n", quoted(&header.name), quoted(&header.value)))
        .collect();
    let bodies = quoted(&bodies.display().to_string());
    format!(
        "\
local bodies = {{}}
for line in io.lines({bodies}) do bodies[#bodies + 1] = line end
wrk.method = \"POST\"
{headers}local at = 0
request = function()
  at = at % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at])
end
"
    )
}

/// A text as Lua reads it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// The text of a result; what is wrong with it in words.
pub(super) fn result(file: &Path) -> Result<String, String> {
    let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    named_file::written_text(file, LARGEST_RESULT).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("it wrote no result: there is no {name}"),
        _ => format!("its result {name} cannot be read: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::folder::Folder;
    use super::*;
    use crate::plan::{BaselineOptions, Limits};

    /// The words that start a peer with two CPUs, its files in a folder that `FOLDER` stands for, and that folder.
    fn words(options: BaselineOptions) -> (Vec<String>, Prepared, Folder) {
        let limits = Limits::roomy(&[0, 1, 2]);
        let options = BaselineOptions { duration: Some("2s".into()), ..options };
        let plan = BaselinePlan::new(&options, &limits).expect("a plan");
        let folder = Folder::new(None).expect("a folder");
        let load = Load { offered: plan.offered, length: plan.duration };
        let peer = (Path::new("/bin/peer"), "http://127.0.0.1:9");
        let prepared = theirs(&plan, load, peer, folder.path(), Path::new("/printed")).expect("a command");
        let root = folder.path().display().to_string();
        let words = std::iter::once(prepared.command.get_program()).chain(prepared.command.get_args());
        let words = words.map(|word| word.to_str().expect("a text").replace(&root, "FOLDER")).collect();
        (words, prepared, folder)
    }

    #[test]
    fn oha_is_asked_for_the_same_number_of_the_same_requests_on_as_many_threads_as_cpus() {
        let rate =
            BaselineOptions { tool: Some("oha".into()), rate: Some("700".into()), ..Default::default() };
        let (words, prepared, folder) = words(rate);
        let line = words.join(" ");
        assert!(
            line.starts_with(
                "/bin/peer -n 1400 -q 700 -c 50 -m POST --no-tui --output-format json -Z FOLDER/bodies.jsonl "
            ),
            "{line}"
        );
        assert!(line.contains(" -T application/json ") && line.contains(" -H "), "{line}");
        assert!(line.ends_with(" http://127.0.0.1:9/v1/chat/completions"), "{line}");
        let threads = prepared.command.get_envs().find(|(name, _)| *name == "TOKIO_WORKER_THREADS");
        assert_eq!(threads.and_then(|(_, value)| value), Some("2".as_ref()));
        assert_eq!(prepared.result, Path::new("/printed"));
        let bodies = fs::read_to_string(folder.path().join("bodies.jsonl")).unwrap();
        assert_eq!(bodies.lines().count() as u64, BODIES);
        assert!(bodies.lines().all(|body| serde_json::from_str::<Value>(body).is_ok()));
    }

    #[test]
    fn wrk_has_a_connection_for_each_slot_and_a_thread_for_each_cpu_but_none_without_a_connection() {
        for (slots, threads) in [("7", "2"), ("1", "1")] {
            let closed = BaselineOptions {
                tool: Some("wrk".into()),
                concurrency: Some(slots.into()),
                ..Default::default()
            };
            let (words, prepared, folder) = words(closed);
            let wanted = format!(
                "/bin/peer -t {threads} -c {slots} -d 2s --latency -s FOLDER/wrk.lua \
                 http://127.0.0.1:9/v1/chat/completions"
            );
            assert_eq!(words.join(" "), wanted);
            assert_eq!(prepared.result, Path::new("/printed"));
            let script = fs::read_to_string(folder.path().join("wrk.lua")).unwrap();
            assert!(script.contains("wrk.headers[\"Content-Type\"] = \"application/json\""), "{script}");
            assert!(folder.path().join("bodies.jsonl").exists());
        }
    }

    #[test]
    fn a_result_that_is_not_there_is_named_and_one_without_an_end_is_not_read() {
        let said = |file| result(Path::new(file)).unwrap_err();
        assert_eq!(said("/nonexistent/k6.json"), "it wrote no result: there is no k6.json");
        assert_eq!(said("/dev/zero"), "its result zero cannot be read: it is no regular file");
    }

    #[test]
    fn headers_are_those_that_no_client_writes_itself() {
        let request =
            b"POST /v1 HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\
                        X-Request-Id: r-0\r\nUser-Agent: lowrho/1\r\n\r\n{\"a: b\":1}";
        let names: Vec<(String, String)> =
            headers(request).into_iter().map(|header| (header.name, header.value)).collect();
        assert_eq!(
            names,
            [("Content-Type".into(), "application/json".into()), ("User-Agent".into(), "lowrho/1".into())]
        );
    }

    #[test]
    fn a_path_with_quotes_stays_one_text_in_lua() {
        assert_eq!(quoted("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
        let script = lua(Path::new("/tmp/b.jsonl"), &headers(b"P / H\r\nA: \"x\"\r\n\r\n"));
        assert!(
            script.contains("io.lines(\"/tmp/b.jsonl\")")
                && script.contains("wrk.headers[\"A\"] = \"\\\"x\\\"\"")
        );
    }
}
