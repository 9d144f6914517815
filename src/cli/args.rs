//! The subcommands and what is theirs alone; the options of a run are declared in `plan`.

use crate::plan::{BaselineOptions, FloorOptions, Raw, SimOptions, SweepOptions, Text};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Drive an LLM inference server at a rate that is kept, and report what reached this host
#[derive(Parser, Debug)]
#[command(name = "lowrho", version, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  lowrho run --sim --rate 1000 --duration 10s
  lowrho run --url http://127.0.0.1:8000 --rate 20
  lowrho sweep --url http://127.0.0.1:8000 --auto --slo 'ttft_p99<500ms'
  lowrho init > run.toml

lowrho COMMAND -h tells the usual options of a command, --help all of them.")]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// Drive one target and report
    Run(Box<RunArguments>),
    /// Measure how low this client can go here, and what it costs
    Floor(Box<FloorArguments>),
    /// Load one target at many levels: a profile, or --auto for its limits
    Sweep(Box<SweepArguments>),
    /// Run the embedded server
    Sim(Box<SimArguments>),
    /// Print a commented config file
    Init(InitArguments),
    /// Repeat a run or a sweep from its results directory
    Rerun(Box<RerunArguments>),
    /// Print the report of a results directory again
    Report(ReportArguments),
    /// Tell result files of lowrho and of other tools side by side
    Compare(Box<CompareArguments>),
    /// Run lowrho and k6, oha or wrk in turn, and tell them side by side
    Baseline(Box<BaselineArguments>),
    /// Write a k6 script that sends what a run would send, for a baseline
    K6Script(Box<ScriptArguments>),
    /// Write a run's summary in another tool's format
    Export(ExportArguments),
    /// Make a config file of another tool's configuration
    ImportConfig(ImportArguments),
    /// See what a run would meet on this machine
    Doctor(Box<DoctorArguments>),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho run --sim --rate 1000 --duration 10s
  lowrho run --url http://127.0.0.1:8000 --rate 20 --output-tokens lognormal:200:80
  lowrho run --url http://127.0.0.1:8000 --concurrency 32 --requests 2000 --json
  lowrho run -c run.toml --rate 50 --out results/fifty

A span is a number and a unit: 250ms, 10s, 2m. Every option is also a key of the file that `lowrho init` prints;
options given here win over the file.
Exit status: 0 well, 1 lowrho failed, 2 bad plan (nothing was sent), 3 the client cannot be trusted,
4 the target failed, 99 a service level was crossed, 130 or 143 interrupted.")]
pub(super) struct RunArguments {
    /// Take the options of this file where they are not given here
    #[arg(short, long, value_name = "FILE.toml")]
    pub(super) config: Option<PathBuf>,
    /// Print the plan (a config file) and, on stderr, its first request as a curl command; send nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) raw: Raw,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho floor
  lowrho floor --rates 1000,2000,4000 --rung 5s --json
  lowrho floor --compare-waiting --rates 1000,4000 --repeat 3

Drives a server that answers at once, a few seconds at each rate, until a gate of the verdict
breaks; a rung that is not valid is measured once more. Prints what was measured, and keeps a
capacity card that --shards auto and --dry-run of lowrho run read (docs/FLOOR.md).")]
pub(super) struct FloorArguments {
    #[command(flatten)]
    pub(super) floor: FloorOptions,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho sweep --url http://127.0.0.1:8000 --from 1 --to 64
  lowrho sweep --url http://127.0.0.1:8000 --over concurrency --from 1 --to 256 --duration 60s
  lowrho sweep --url http://127.0.0.1:8000 --auto --slo 'ttft_p99<500ms,tpot_p99<50ms' --budget 45m
  lowrho sweep --resume results/20260101T120000Z-m

--duration and --warmup are those of each trial; left out, they follow from how long the idle server takes (docs/SWEEP.md).
Exit status: 0 found, 1 lowrho failed, 2 bad plan (nothing was sent), 3 undecided, or the client cannot be trusted,
4 the target failed, 99 no rate keeps the service levels, 130 or 143 interrupted.")]
pub(super) struct SweepArguments {
    /// Take the options of this file where they are not given here
    #[arg(short, long, value_name = "FILE.toml")]
    pub(super) config: Option<PathBuf>,
    /// Go on with the sweep of this results directory, with the options it began with
    #[arg(long, value_name = "DIR", help_heading = "Sweep")]
    pub(super) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(super) sweep: SweepOptions,
    #[command(flatten)]
    pub(super) raw: Raw,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho sim --ttft 20ms --itl 5ms
  lowrho sim --listen 127.0.0.1:9000 --cpus 2-3 --ttft lognormal:50ms:20ms --max-running 64
  lowrho sim --fault status=503:0.01 --fault stall=3@7 --log truth.jsonl")]
pub(super) struct SimArguments {
    /// The process that started it, without which it ends
    #[arg(long, value_name = "PID", hide = true)]
    pub(super) owner: Option<i32>,
    #[command(flatten)]
    pub(super) sim: SimOptions,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho init > run.toml
  lowrho init run.toml && lowrho run -c run.toml")]
pub(super) struct InitArguments {
    /// File to write, which must not exist; stdout when left out
    #[arg(value_name = "FILE.toml")]
    pub(super) file: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho rerun results/20260101T120000Z-m
  lowrho rerun results/20260101T120000Z-m --rate 50 --out results/fifty

Secrets are not saved with results: give --api-key (or OPENAI_API_KEY), secret --header and a --url with user info
again.")]
pub(super) struct RerunArguments {
    /// Results directory of the run or sweep to repeat
    #[arg(value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// Print the plan (a config file) and, on stderr, its first request as a curl command; send nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) raw: Raw,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho doctor
  lowrho doctor --url http://192.0.2.7:8000 --rate 2000 --shards 4
  lowrho doctor -c run.toml --json | jq '.findings[] | select(.state != \"ok\")'

With the options of a run it judges the machine for that run; nothing is sent.
Exit status: 0 nothing fails, 1 something does, 2 bad plan or usage.")]
pub(super) struct DoctorArguments {
    /// Take the options of this file where they are not given here
    #[arg(short, long, value_name = "FILE.toml")]
    pub(super) config: Option<PathBuf>,
    #[command(flatten)]
    pub(super) raw: Raw,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho report results/20260101T120000Z-m
  lowrho report results/20260101T120000Z-m --json | jq .latency.ttft_ns
  lowrho report before after --html both.html
  lowrho report results/20260101T120000Z-m --gpus 8 --price 2.5 --html priced.html")]
pub(super) struct ReportArguments {
    /// Results directories of runs or of sweeps: several are printed one after another, or drawn over each other
    #[arg(value_name = "DIR", required = true)]
    pub(super) dirs: Vec<PathBuf>,
    /// Print summary.json, or sweep.json, instead, of several as one array
    #[arg(long, conflicts_with = "csv")]
    pub(super) json: bool,
    /// Print every stage's, or every trial's, figures as CSV instead
    #[arg(long)]
    pub(super) csv: bool,
    /// Write the page of figures to FILE and print nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "csv"])]
    pub(super) html: Option<PathBuf>,
    /// GPUs behind the servers together, in place of what was said when the results were made
    #[arg(long, value_name = "N")]
    pub(super) gpus: Option<Text>,
    /// Dollars that one GPU costs an hour
    #[arg(long, value_name = "DOLLARS")]
    pub(super) price: Option<Text>,
    /// Write each figure as an SVG file of its own into DIR and print nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "csv"])]
    pub(super) svg: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho compare results/before results/after
  lowrho compare results/a k6-summary.json vllm.json profile_export_aiperf.json --markdown
  lowrho compare results/main results/branch --fail-if 'ttft_p99>+5%,requests_per_s<-2%'

Which tool wrote a file is told by its content: k6, vllm bench serve, SGLang, AIPerf, inference-perf, GuideLLM, oha, wrk
(docs/COMPARISON.md). A number that only shares a name with one of lowrho's is not lined up, and a note says why.
Two or more runs of lowrho: differences against the first, with 95 % intervals; a directory of repeats
(--repeat) is one column, and its intervals are of the spread between its runs.
Exit status: 0 told, 1 lowrho failed, 2 a file or a term cannot be read or judged, 99 a term of --fail-if is crossed.")]
pub(super) struct CompareArguments {
    /// Results directories of lowrho, and result files of any tool
    #[arg(value_name = "PATH", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Print Markdown instead
    #[arg(long, conflicts_with = "html")]
    pub(super) markdown: bool,
    /// Write a page to FILE and print nothing
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Tell every figure that any file has
    #[arg(long)]
    pub(super) all: bool,
    /// Exit with 99 when the whole 95 % interval of a difference lies beyond a limit: 'ttft_p99>+5%,requests_per_s<-2%'
    #[arg(long, value_name = "TERMS")]
    pub(super) fail_if: Option<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho export results/20260101T120000Z-m --as vllm --out result.json
  lowrho export results/20260101T120000Z-m --as k6 | jq .metrics.http_reqs

Keys and units are the other tool's; the numbers are those of summary.json, and one that it does not have is left out or
null (docs/COMPARISON.md).")]
pub(super) struct ExportArguments {
    /// Results directory
    #[arg(value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// Format: vllm, aiperf, genai-perf, inference-perf, k6
    #[arg(long = "as", value_name = "TOOL")]
    pub(super) format: String,
    /// File to write, which must not exist; stdout when left out
    #[arg(short, long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho import-config inference-perf.yml > run.toml
  lowrho import-config --out run.toml -- vllm bench serve --model m --request-rate 4 --num-prompts 300
  lowrho import-config -- 'vllm bench serve --model m --max-concurrency 8'

What differs, what has no equivalent and what needs none stands at the file's head as comments (docs/COMPARISON.md).")]
pub(super) struct ImportArguments {
    /// File to write, which must not exist; stdout when left out
    #[arg(short, long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// A YAML file of inference-perf, or after -- a command line of vllm bench serve
    #[arg(value_name = "FILE | -- COMMAND", required = true, num_args = 1..)]
    pub(super) words: Vec<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho baseline k6
  lowrho baseline oha --rate 2000 --windows auto,0,1ms --search --json oha.json
  lowrho baseline k6 --binary ./k6 --ttft 20ms --itl 5ms --client-cpus 0 --server-cpus 1
  lowrho baseline wrk --concurrency 50

Each round runs every side once at each rate, a process from start to exit against a fresh lowrho sim on CPUs of its own;
the order is turned round from one round to the next (ABBA). Ratios are of pairs: median, range, number (docs/COMPARISON.md).
A side that fails, or sends too few, is told with what happened.
Exit status: 0 measured, 1 lowrho failed or no pair was measured, 2 bad options, or the tool is missing (nothing was sent),
130 or 143 interrupted: the pairs measured until then are told.")]
pub(super) struct BaselineArguments {
    #[command(flatten)]
    pub(super) baseline: BaselineOptions,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lowrho k6-script --url http://127.0.0.1:8000 --model m --rate 200 --arrival constant --duration 30s
  $(lowrho k6-script -c run.toml --script baseline.js) && lowrho compare results/a baseline.summary.json

Writes the script and its bodies (the bytes that lowrho would send) and prints the command that runs it. Warm-up is a scenario
of its own, and --slo becomes thresholds where k6 measures the same thing (docs/COMPARISON.md).")]
pub(super) struct ScriptArguments {
    /// Take the options of this file where they are not given here
    #[arg(short, long, value_name = "FILE.toml")]
    pub(super) config: Option<PathBuf>,
    /// File to write, which must not exist; FILE.bodies.json is written beside it
    #[arg(long, value_name = "FILE.js", default_value = "k6.js")]
    pub(super) script: PathBuf,
    /// How long a request takes: preAllocatedVUs is the rate times this, and four deviations more
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    pub(super) expect_e2e: String,
    #[command(flatten)]
    pub(super) raw: Raw,
}
