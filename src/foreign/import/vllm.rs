//! A command line of `vllm bench serve` (0.33.0, and `benchmark_serving.py` before it) to options of ours.
//!
//! It must not run it, nor read a file that it names.

use super::flags::{FLAGS, Fate, Takes};
use super::{ImportError, Imported, number};
use crate::plan::Text;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Whether words are such a command line.
#[must_use]
pub fn is_command(words: &[String]) -> bool {
    let before: Vec<&str> =
        words.iter().map(String::as_str).take_while(|word| !word.starts_with('-')).collect();
    let script = before.iter().any(|word| word.ends_with("benchmark_serving.py"));
    script || before.ends_with(&["bench", "serve"])
}

/// What was given, by option.
struct Given {
    options: BTreeMap<&'static str, Vec<String>>,
}

impl Given {
    fn has(&self, flag: &str) -> bool {
        self.options.contains_key(flag)
    }

    fn text(&self, flag: &str) -> Option<&str> {
        self.options.get(flag)?.first().map(String::as_str)
    }

    fn many(&self, flag: &str) -> impl Iterator<Item = &String> {
        self.options.get(flag).into_iter().flatten()
    }

    fn number(&self, flag: &str) -> Result<Option<f64>, ImportError> {
        let Some(text) = self.text(flag) else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|number| !number.is_nan());
        number.map(Some).ok_or_else(|| ImportError::new(format!("--{flag} {text}: is no number")))
    }

    fn count(&self, flag: &str, default: u64) -> Result<u64, ImportError> {
        let Some(text) = self.text(flag) else { return Ok(default) };
        text.parse().map_err(|_| ImportError::new(format!("--{flag} {text}: is no count")))
    }
}

/// Makes options of a command line, its program first.
///
/// # Errors
/// Words that are no such command, an option without its value, a value that is none, a backend that is not driven here.
pub fn vllm_command(words: &[String]) -> Result<Imported, ImportError> {
    if !is_command(words) {
        return Err(ImportError::new(
            "it is no command line of vllm bench serve: it begins with vllm bench serve, or python benchmark_serving.py",
        ));
    }
    let mut imported = Imported::default();
    let given = given(words, &mut imported)?;
    target(&given, &mut imported)?;
    load(&given, &mut imported)?;
    payload(&given, &mut imported)?;
    body(&given, &mut imported)?;
    levels(&given, &mut imported)?;
    Ok(imported)
}

/// The options by name; those without a meaning here are told.
fn given(words: &[String], imported: &mut Imported) -> Result<Given, ImportError> {
    let mut options: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let mut rest = words.iter().skip_while(|word| !word.starts_with('-')).peekable();
    while let Some(word) = rest.next() {
        let Some(flag) = word.strip_prefix("--") else {
            return Err(ImportError::new(format!("{word}: stands where an option is expected")));
        };
        let (flag, inline) =
            flag.split_once('=').map_or((flag, None), |(flag, value)| (flag, Some(value.to_owned())));
        // As their parser takes them.
        let flag = flag.replace('_', "-");
        let Some((name, takes, fate)) = FLAGS.iter().find(|(name, _, _)| *name == flag) else {
            let value = rest.next_if(|next| inline.is_none() && !next.starts_with("--"));
            let value = inline.or_else(|| value.cloned()).unwrap_or_default();
            imported.missing(
                format!("--{flag} {value}: is no option of vllm bench serve 0.33.0").replace(" :", ":"),
            );
            continue;
        };
        let mut values: Vec<String> = inline.into_iter().collect();
        match takes {
            Takes::Nothing => {}
            Takes::One if values.is_empty() => {
                let value =
                    rest.next().ok_or_else(|| ImportError::new(format!("--{name}: its value is missing")))?;
                values.push(value.clone());
            }
            Takes::One => {}
            Takes::Many => {
                while let Some(value) = rest.next_if(|next| !next.starts_with("--")) {
                    values.push(value.clone());
                }
            }
        }
        let told = format!("--{name} {}", values.join(" "));
        let told = told.trim_end();
        match fate {
            Fate::Mapped => drop(options.insert(name, values)),
            Fate::Unneeded(why) => imported.unneeded(format!("{told}: {why}")),
            Fate::Missing(why) => imported.missing(format!("{told}: {why}")),
        }
    }
    Ok(Given { options })
}

fn target(given: &Given, imported: &mut Imported) -> Result<(), ImportError> {
    let backend = given.text("backend").unwrap_or("openai");
    let (api, usual) = match backend {
        "openai" | "vllm" => ("completions", "/v1/completions"),
        "openai-chat" => ("chat", "/v1/chat/completions"),
        other => {
            return Err(ImportError::new(format!(
                "--backend {other}: is not driven here; openai, vllm and openai-chat are"
            )));
        }
    };
    imported.raw.target.api = Some(api.into());
    let base = given.text("base-url").map(|url| url.trim_end_matches('/').to_owned());
    let base = base.unwrap_or_else(|| {
        let host = given.text("host").unwrap_or("127.0.0.1");
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        format!("http://{host}:{}", given.text("port").unwrap_or("8000"))
    });
    // The tool's own default is the path of completions, whatever the backend; a chat backend it refuses with that.
    let endpoint = given.text("endpoint").unwrap_or(usual);
    let url = if endpoint == usual { base } else { format!("{base}{endpoint}") };
    if given.has("insecure") && url.starts_with("https:") {
        imported.raw.target.insecure = Some(true);
    } else if given.has("insecure") {
        imported.unneeded("--insecure: the URL is not https");
    }
    imported.raw.target.url = vec![Text(url)];
    imported.raw.target.model =
        given.text("served-model-name").or_else(|| given.text("model")).map(Text::from);
    for header in given.many("header") {
        let (name, value) = pair("header", header)?;
        imported.header("--header", name, value);
    }
    if let Some(seconds) = given.number("ready-check-timeout-sec")?.filter(|s| *s > 0.0) {
        imported.raw.target.wait_ready = Some(Text(format!("{}s", number(seconds))));
    }
    Ok(())
}

fn load(given: &Given, imported: &mut Imported) -> Result<(), ImportError> {
    let requests = given.count("num-prompts", 1_000)?;
    let rate = given.number("request-rate")?.filter(|rate| rate.is_finite());
    let most = given.text("max-concurrency").map(|_| given.count("max-concurrency", 0)).transpose()?;
    let load = &mut imported.raw.load;
    load.requests = Some(Text(requests.to_string()));
    load.seed = Some(Text(given.count("seed", 0)?.to_string()));
    match (rate, most) {
        (Some(rate), most) => {
            load.rate = Some(Text(number(rate)));
            load.max_concurrency = most.map(|most| Text(most.to_string()));
            load.arrival = Some(Text(match given.number("burstiness")?.unwrap_or(1.0) {
                one if (one - 1.0).abs() < f64::EPSILON => "poisson".into(),
                // So smooth that no gap differs from another by a hundredth.
                shape if shape > 10_000.0 => "constant".into(),
                shape => format!("gamma:{}", number(shape)),
            }));
            imported.differs("--request-rate: gaps are not rescaled to a total here, so that a run's length varies as its gaps do");
        }
        (None, Some(most)) => load.concurrency = Some(Text(most.to_string())),
        (None, None) => {
            load.concurrency = Some(Text(requests.to_string()));
            imported.differs(format!(
                "no --request-rate: all {requests} requests are sent at once, here as so many slots"
            ));
        }
    }
    if let Some(strategy) = given.text("ramp-up-strategy") {
        let ends = ["ramp-up-start-rps", "ramp-up-end-rps"].map(|flag| given.text(flag).unwrap_or("?"));
        imported.missing(format!(
            "--ramp-up-strategy {strategy} from {} to {} requests/s: there a request's number decides its rate, here time does; \
             say it as a [[stage]] with rate, rate-end, shape and duration",
            ends[0], ends[1]
        ));
    }
    let warmups = given.count("num-warmups", 0)?;
    if warmups > 0 {
        imported.missing(format!(
            "--num-warmups {warmups}: a warm-up has a length here (load.warmup), not a number"
        ));
    }
    Ok(())
}

fn payload(given: &Given, imported: &mut Imported) -> Result<(), ImportError> {
    // Without the flag the tool does not send it, and answers may end early.
    if !given.has("ignore-eos") {
        imported.raw.payload.no_ignore_eos = Some(true);
    }
    let dataset = given.text("dataset-name").unwrap_or("random");
    for own in OF_RANDOM.into_iter().filter(|own| dataset != "random" && given.has(own)) {
        imported.missing(format!("--{own}: of --dataset-name random, and the data set is {dataset}"));
    }
    match dataset {
        "random" => random(given, imported),
        "custom" => {
            let Some(path) = given.text("dataset-path") else {
                return Err(ImportError::new("--dataset-name custom: --dataset-path is missing"));
            };
            imported.raw.payload.prompts = Some(path.into());
            let length =
                given.text("output-len").or_else(|| given.text("custom-output-len")).unwrap_or("256");
            if length != "-1" {
                imported.raw.payload.output_tokens = Some(length.into());
                imported.differs("--custom-output-len: an output_tokens of the file's own lines wins here");
            }
            Ok(())
        }
        other => {
            let path = given.text("dataset-path").map(|path| format!(" ({path})")).unwrap_or_default();
            imported.missing(format!(
                "--dataset-name {other}{path}: this data set is not read; prompts are made up unless --prompts names a file of \
                 lines {{\"prompt\", \"output_tokens\"}}"
            ));
            Ok(())
        }
    }
}

/// Options that say something of made-up prompts alone.
const OF_RANDOM: [&str; 4] =
    ["random-input-len", "random-output-len", "random-prefix-len", "random-range-ratio"];

/// Made-up prompts: there of random token ids, here of random words.
fn random(given: &Given, imported: &mut Imported) -> Result<(), ImportError> {
    let length = |own: &str, of_all: &str, default| match given.has(of_all) {
        true => given.count(of_all, default),
        false => given.count(own, default),
    };
    let input = length("random-input-len", "input-len", 1_024)?;
    let output = length("random-output-len", "output-len", 128)?;
    let prefix = given.count("random-prefix-len", 0)?;
    let ratio = given.text("random-range-ratio").unwrap_or("0.0");
    let Some(ratio) = ratio.parse::<f64>().ok().filter(|ratio| (0.0..1.0).contains(ratio)) else {
        return Err(ImportError::new(format!(
            "--random-range-ratio {ratio}: is no number from 0 to below 1"
        )));
    };
    let payload = &mut imported.raw.payload;
    payload.input_tokens = Some(Text(range(input, ratio)));
    payload.prefix_tokens = Some(prefix).filter(|prefix| *prefix > 0).map(|prefix| Text(prefix.to_string()));
    payload.output_tokens = Some(Text(range(output, ratio)));
    imported
        .differs("--random-input-len: prompts are words of about so many tokens, no tokenizer's exact count");
    Ok(())
}

/// `length` give or take a share of it.
fn range(length: u64, ratio: f64) -> String {
    let float = crate::foreign::reading::float;
    if ratio == 0.0 {
        return length.to_string();
    }
    let (low, high) = (libm::floor(float(length) * (1.0 - ratio)), libm::ceil(float(length) * (1.0 + ratio)));
    format!("uniform:{}:{}", number(low.max(1.0)), number(high))
}

/// What goes into every body.
fn body(given: &Given, imported: &mut Imported) -> Result<(), ImportError> {
    let mut body = Map::new();
    for flag in [
        "temperature",
        "top-p",
        "top-k",
        "min-p",
        "frequency-penalty",
        "presence-penalty",
        "repetition-penalty",
        "logprobs",
    ] {
        if let Some(text) = given.text(flag) {
            let value: Value = serde_json::from_str(text)
                .ok()
                .filter(Value::is_number)
                .ok_or_else(|| ImportError::new(format!("--{flag} {text}: is no number")))?;
            body.insert(flag.replace('-', "_"), value);
        }
    }
    for (flag, inside) in [("chat-template-kwargs", Some("chat_template_kwargs")), ("extra-body", None)] {
        let Some(text) = given.text(flag) else { continue };
        let Ok(Value::Object(more)) = serde_json::from_str::<Value>(text) else {
            return Err(ImportError::new(format!("--{flag} {text}: is no JSON object")));
        };
        match inside {
            Some(key) => drop(body.insert(key.into(), Value::Object(more))),
            None => body.extend(more),
        }
    }
    if !body.is_empty() {
        imported.raw.target.extra_body = Some(Text(Value::Object(body).to_string()));
    }
    Ok(())
}

/// Goodput's bounds, labels and what is shown.
fn levels(given: &Given, imported: &mut Imported) -> Result<(), ImportError> {
    let mut terms = Vec::new();
    for bound in given.many("goodput") {
        let (name, ms) = bound
            .split_once(':')
            .and_then(|(name, ms)| Some((name, ms.parse::<f64>().ok().filter(|ms| ms.is_finite())?)))
            .ok_or_else(|| ImportError::new(format!("--goodput {bound}: is not METRIC:MILLISECONDS")))?;
        let metric = match name {
            "ttft" | "tpot" => name,
            "e2el" => "e2e",
            other => {
                return Err(ImportError::new(format!(
                    "--goodput {bound}: {other} is none of ttft, tpot, e2el"
                )));
            }
        };
        terms.push(format!("{metric}_p99<{}ms", number(ms)));
    }
    if !terms.is_empty() {
        imported.raw.verdict.slo = Some(Text(terms.join(",")));
        imported.differs("--goodput: the bounds hold each request as there; the p99 decides the exit status, which there nothing does");
    }
    for pair_of in given.many("metadata") {
        let (key, value) = pair("metadata", pair_of)?;
        imported.raw.output.tag.push(Text(format!("{key}={value}")));
    }
    if let Some(label) = given.text("label") {
        imported.raw.output.tag.push(Text(format!("label={label}")));
    }
    if given.has("disable-tqdm") {
        imported.raw.output.quiet = Some(true);
    }
    Ok(())
}

fn pair<'a>(flag: &str, text: &'a str) -> Result<(&'a str, &'a str), ImportError> {
    text.split_once('=').ok_or_else(|| ImportError::new(format!("--{flag} {text}: is not KEY=VALUE")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Raw;

    fn import(command: &str) -> Result<Imported, ImportError> {
        let words: Vec<String> = shlex::split(command).unwrap();
        vllm_command(&words)
    }

    #[test]
    fn a_usual_command_is_taken_over_whole() {
        let imported = import(
            "vllm bench serve --backend openai-chat --endpoint /v1/chat/completions --base-url http://h:9/ --model m \
             --random-input-len 100 --random-output-len=50 --random_range_ratio 0.5 --request-rate 4 --burstiness 0.5 \
             --max-concurrency 64 --num-prompts 300 --ignore-eos --header A=b C=d --temperature 0 --goodput ttft:500 e2el:9000 \
             --save-result --seed 7",
        )
        .unwrap();
        let raw = Raw::from_toml(&imported.text("it")).unwrap();
        let wanted = Raw::from_toml(
            "[target]\nurl = \"http://h:9\"\napi = \"chat\"\nmodel = \"m\"\nheader = [\"A: b\", \"C: d\"]\nextra-body = '{\"temperature\":0}'\n\
             [load]\nrate = 4\narrival = \"gamma:0.5\"\nmax-concurrency = 64\nrequests = 300\nseed = 7\n\
             [payload]\ninput-tokens = \"uniform:50:150\"\noutput-tokens = \"uniform:25:75\"\n\
             [verdict]\nslo = \"ttft_p99<500ms,e2e_p99<9000ms\"",
        )
        .unwrap();
        assert_eq!(raw, wanted, "{}", imported.text("it"));
        assert!(imported.missing.is_empty(), "{:?}", imported.missing);
    }

    #[test]
    fn without_a_rate_the_loop_is_closed() {
        let slots = |command: &str| import(command).unwrap().raw.load.concurrency.map(|text| text.0);
        assert_eq!(slots("vllm bench serve --max-concurrency 8 --request-rate inf").as_deref(), Some("8"));
        assert_eq!(slots("python3 bench/benchmark_serving.py --num-prompts 20").as_deref(), Some("20"));
    }

    #[test]
    fn a_secret_is_not_written_into_a_file() {
        let imported = import("vllm bench serve --header Authorization=sekret X-A=b").unwrap();
        assert!(!imported.text("it").contains("sekret"));
        assert_eq!(imported.raw.target.header, ["X-A: b".into()]);
        assert!(imported.missing.iter().any(|one| one.contains("Authorization")), "{:?}", imported.missing);
    }

    #[test]
    fn what_has_no_equivalent_is_told_and_what_is_wrong_is_refused() {
        let imported =
            import("vllm bench serve --dataset-name sharegpt --dataset-path s.json --profile --frobnicate 3 --port 1 --random-prefix-len 9").unwrap();
        for word in ["sharegpt (s.json)", "--random-prefix-len: of", "--profile", "--frobnicate 3"] {
            assert!(imported.missing.iter().any(|one| one.contains(word)), "{word}: {:?}", imported.missing);
        }
        for bad in [
            "ls -l",
            "vllm serve m",
            "vllm bench serve --request-rate fast",
            "vllm bench serve --backend tgi",
            "vllm bench serve --model",
            "vllm bench serve stray",
            "vllm bench serve --goodput ttft=5",
            "vllm bench serve --goodput ttft:NaN",
            "vllm bench serve --extra-body [1]",
            "vllm bench serve --random-range-ratio 2",
            "vllm bench serve --dataset-name custom",
        ] {
            assert!(import(bad).is_err(), "{bad}");
        }
    }
}
