//! What the workload promises: valid bodies, no two alike, the lengths asked for, the same bytes every time.

use super::*;
use crate::random::Counts;
use crate::wire::{Api, Common, Method, RequestHead};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::io::IoSlice;

fn head() -> RequestHead {
    let common = Common {
        method: Method::Post,
        target: "/v1/chat/completions",
        host: "127.0.0.1:8000",
        api_key: None,
        headers: &[],
        run: Some("20261129T172046Z-abcd"),
    };
    RequestHead::new(&common).unwrap()
}

fn spec(api: Api, form: PromptForm, input: &str, output: &str) -> WorkloadSpec {
    WorkloadSpec {
        api,
        head: head(),
        model: "Qwen/Qwen3-8B".into(),
        seed: 0,
        source: Source::Synthetic { input_tokens: input.parse().unwrap(), prefix_tokens: 0, form },
        output_tokens: output.parse().unwrap(),
        choices: 1,
        ignore_eos: true,
        include_usage: true,
        extra_body: Map::new(),
    }
}

fn chat(input: &str, output: &str) -> Workload {
    Workload::new(&spec(Api::Chat, PromptForm::Text, input, output)).unwrap()
}

fn ids(input: &str) -> Workload {
    Workload::new(&spec(Api::Completions, PromptForm::Ids(ids_below(30_001)), input, "16")).unwrap()
}

fn file(api: Api, text: &str) -> Result<Workload, WorkloadError> {
    let source = Source::File(Prompts::parse(text)?);
    Workload::new(&WorkloadSpec { source, ..spec(api, PromptForm::Text, "1", "16") })
}

fn with(api: Api, extra: Value) -> Result<Workload, WorkloadError> {
    let Value::Object(extra_body) = extra else { panic!("an object") };
    Workload::new(&WorkloadSpec { extra_body, ..spec(api, PromptForm::Text, "32", "16") })
}

fn bytes(workload: &Workload, index: u64) -> Vec<u8> {
    let mut request = Request::new();
    workload.request(index, &mut request);
    request.to_bytes()
}

fn body(workload: &Workload, index: u64) -> Value {
    let mut request = Request::new();
    workload.request(index, &mut request);
    serde_json::from_slice(&request.body()).unwrap()
}

fn content(body: &Value) -> &str {
    body["messages"][0]["content"].as_str().unwrap()
}

fn words(text: &str) -> usize {
    text.split(' ').filter(|word| !word.is_empty()).count()
}

#[test]
fn a_chat_body_asks_for_what_a_run_needs() {
    let body = body(&chat("64", "24"), 5);
    let text = content(&body).to_string();
    let expected = json!({
        "model": "Qwen/Qwen3-8B", "max_tokens": 24, "max_completion_tokens": 24, "ignore_eos": true,
        "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": text}],
    });
    assert_eq!(body, expected);
    assert_eq!((words(&text), text.split(' ').count()), (64, 64), "single spaces between them");
}

#[test]
fn a_completions_body_has_a_prompt_and_one_limit() {
    let workload = Workload::new(&spec(Api::Completions, PromptForm::Text, "64", "24")).unwrap();
    let body = body(&workload, 5);
    let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["model", "max_tokens", "ignore_eos", "stream", "stream_options", "prompt"]);
    assert_eq!(words(body["prompt"].as_str().unwrap()), 64);
}

#[test]
fn the_head_says_the_bodys_length_and_the_requests_name() {
    for workload in [chat("lognormal:300:200", "exp:50"), ids("uniform:1:3000")] {
        let mut request = Request::new();
        for index in 0..500 {
            workload.request(index, &mut request);
            let whole = String::from_utf8(request.to_bytes()).unwrap();
            let (head, body) = whole.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("x-request-id: 20261129T172046Z-abcd-{index}\r\n")), "{head}");
            assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head} for {}", body.len());
            assert_eq!((whole.len(), body.as_bytes()), (request.len(), request.body().as_slice()));
        }
    }
}

#[test]
fn every_body_is_json_and_no_two_are_alike_from_their_first_words_on() {
    let workload = chat("lognormal:200:80", "normal:50:20");
    let (mut heads, mut first_words, mut tails) = (HashSet::new(), HashSet::new(), HashSet::new());
    for index in 0..5_000 {
        let body = body(&workload, index);
        let text = content(&body).to_string();
        let head: Vec<&str> = text.split(' ').take(8).collect();
        assert!(words(&text) < 8 || heads.insert(head.join(" ")), "request {index} begins like another");
        first_words.insert(head[0].to_string());
        let tail: Vec<&str> = text.split(' ').skip(8).take(16).collect();
        tails.insert(tail.join(" "));
    }
    // 5,000 cuts of 65,536 places: 4,815 different places expected, deviation 13.
    assert!(tails.len() > 4_700, "{}", tails.len());
    assert_eq!(first_words.len(), 256, "the first word already tells requests apart");
}

#[test]
fn ids_are_as_many_as_asked_and_in_range_and_unlike_from_the_first_five_on() {
    let workload = ids("uniform:1:2000");
    let mut heads = HashSet::new();
    for index in 0..2_000 {
        let body = body(&workload, index);
        let ids: Vec<u64> =
            body["prompt"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        let told = workload.input_tokens(index);
        assert_eq!((ids.len(), true), (usize::try_from(told.count).unwrap(), told.exact));
        assert!(ids.iter().all(|id| (1_000..=30_000).contains(id)));
        assert!(ids.len() < 5 || heads.insert(ids[..5].to_vec()), "request {index} begins like another");
    }
}

#[test]
fn prompts_share_the_prefix_that_is_asked_for_and_nothing_after_it() {
    let source = |form| Source::Synthetic { input_tokens: Counts::constant(20), prefix_tokens: 300, form };
    let ids = PromptForm::Ids(ids_below(30_001));
    let of_ids = WorkloadSpec { source: source(ids.clone()), ..spec(Api::Completions, ids, "1", "16") };
    let of_text =
        WorkloadSpec { source: source(PromptForm::Text), ..spec(Api::Chat, PromptForm::Text, "1", "16") };
    let (of_ids, of_text) = (Workload::new(&of_ids).unwrap(), Workload::new(&of_text).unwrap());
    let prompt = |index| body(&of_ids, index)["prompt"].as_array().unwrap().clone();
    let text = |index| content(&body(&of_text, index)).split(' ').map(str::to_owned).collect::<Vec<_>>();
    for index in 1..200 {
        let (first, other) = (prompt(0), prompt(index));
        assert_eq!((other.len(), &other[..300]), (320, &first[..300]));
        assert_ne!(other[300..305], first[300..305]);
        let (first, other) = (text(0), text(index));
        assert!(other[..300] == first[..300] && other[300..308] != first[300..308] && !other[0].is_empty());
    }
    assert_eq!((of_ids.input_tokens(5).count, of_ids.mean_input_tokens()), (320, 320.0));
    let mut probe = Request::new();
    of_ids.probe(&head(), 0, 40, 1, &mut probe);
    let probe: Value = serde_json::from_slice(&probe.body()).unwrap();
    assert_ne!(probe["prompt"].as_array().unwrap()[..5], prompt(0)[..5], "a probe warms no cache");
}

#[test]
fn lengths_follow_their_distribution_and_the_body_asks_what_the_workload_says() {
    let workload = chat("lognormal:200:80", "uniform:10:30");
    let mut sum = 0;
    for index in 0..4_000 {
        let body = body(&workload, index);
        assert_eq!(
            Some(body["max_tokens"].as_u64().unwrap()),
            workload.asked_output_tokens(index).map(u64::from)
        );
        assert_eq!(words(content(&body)), usize::try_from(workload.input_tokens(index).count).unwrap());
        sum += workload.input_tokens(index).count;
    }
    // Deviation of the mean is 80 / sqrt(4000) = 1.26; five of them.
    assert!((f64::from(sum) / 4_000.0 - workload.mean_input_tokens()).abs() < 6.4, "{sum}");
    assert_eq!(workload.mean_output_tokens(), Some(20.0));
    assert!(!workload.input_is_exact() && ids("5").input_is_exact());
}

#[test]
fn a_request_is_the_same_whenever_and_wherever_it_is_made() {
    let workload = chat("lognormal:200:80", "exp:50");
    let mut reused = Request::new();
    for index in [7, 3, 3_000_000_000, 7, 0] {
        workload.request(index, &mut reused);
        assert_eq!(reused.to_bytes(), bytes(&chat("lognormal:200:80", "exp:50"), index));
    }
    let other = Workload::new(&WorkloadSpec {
        seed: 1,
        ..spec(Api::Chat, PromptForm::Text, "lognormal:200:80", "exp:50")
    });
    assert_ne!(bytes(&workload, 7), bytes(&other.unwrap(), 7));
}

/// Recorded once: a change here changes what every published run has sent.
#[test]
fn the_first_body_never_changes() {
    let mut request = Request::new();
    chat("12", "16").request(0, &mut request);
    let golden = r#"{"model":"Qwen/Qwen3-8B","max_tokens":16,"max_completion_tokens":16,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"where being more an not form where under white every made this"}]}"#;
    assert_eq!(String::from_utf8(request.body()).unwrap(), golden);
}

#[test]
fn a_long_prompt_costs_few_bytes_of_its_own() {
    let mut request = Request::new();
    for workload in [chat("100000", "16"), ids("100000")] {
        workload.request(1, &mut request);
        assert!(request.own_len() < 700, "{}", request.own_len());
        assert!(request.len() > 400_000 && request.pieces().len() <= 5, "{:?}", request.pieces());
        let mut slices: Vec<IoSlice<'_>> = Vec::new();
        request.slices(&mut slices);
        assert_eq!(
            slices.iter().flat_map(|slice| slice.iter()).copied().collect::<Vec<u8>>(),
            request.to_bytes()
        );
    }
}

#[test]
fn buffers_stop_growing() {
    let workload = chat("lognormal:200:800", "exp:50");
    let mut request = Request::new();
    (0..2_000).for_each(|index| workload.request(index, &mut request));
    let capacities = request.capacities();
    (2_000..20_000).for_each(|index| workload.request(index, &mut request));
    assert!(capacities.0 < 2_048 && capacities == request.capacities(), "{capacities:?}");
}

#[test]
fn a_file_is_sent_in_order_again_and_again_as_it_is() {
    let text = "{\"prompt\":\"one\",\"output_tokens\":3}\n{\"prompt\":\"zwei \\u00fc \\\"2\\\"\"}\n{\"prompt\":\"three\"}\n";
    let workload = file(Api::Completions, text).unwrap();
    let sent: Vec<Value> = (0..6).map(|index| body(&workload, index)["prompt"].clone()).collect();
    assert_eq!(sent, ["one", "zwei \u{fc} \"2\"", "three", "one", "zwei \u{fc} \"2\"", "three"]);
    assert_eq!([0, 1, 3].map(|index| workload.asked_output_tokens(index)), [Some(3), Some(16), Some(3)]);
    assert_eq!(body(&workload, 3)["max_tokens"], 3);
    assert_eq!(workload.mean_output_tokens(), Some(35.0 / 3.0));
    let chat = file(Api::Chat, text).unwrap();
    assert_eq!(content(&body(&chat, 1)), "zwei \u{fc} \"2\"");
    assert_ne!(bytes(&chat, 0), bytes(&chat, 3), "though the heads still number them");
}

#[test]
fn the_users_keys_win_and_null_removes() {
    let extra = json!({
        "temperature": 0, "ignore_eos": null, "stream_options": {"continuous_usage_stats": true}, "max_tokens": null,
    });
    let body = body(&with(Api::Chat, extra).unwrap(), 0);
    assert_eq!(body["temperature"], 0);
    assert_eq!(body["stream_options"], json!({"include_usage": true, "continuous_usage_stats": true}));
    assert!(body.get("ignore_eos").is_none() && body.get("max_tokens").is_none());
    assert_eq!(body["max_completion_tokens"], 16);
}

#[test]
fn what_is_asked_follows_the_users_limit() {
    let fixed = with(Api::Chat, json!({"max_completion_tokens": 5})).unwrap();
    assert_eq!((fixed.asked_output_tokens(3), fixed.mean_output_tokens()), (Some(5), Some(5.0)));
    let free = with(Api::Completions, json!({"max_tokens": null})).unwrap();
    assert_eq!((free.asked_output_tokens(3), free.mean_output_tokens()), (None, None));
    assert!(
        with(Api::Completions, json!({"max_tokens": "many"})).unwrap_err().to_string().contains("no count")
    );
}

#[test]
fn a_unary_answer_is_asked_without_stream_options() {
    let unary = with(Api::Chat, json!({"stream": false})).unwrap();
    assert!(!unary.streams() && body(&unary, 0).get("stream_options").is_none());
    assert!(chat("5", "5").streams());
}

#[test]
fn choices_are_those_of_the_body() {
    assert_eq!(chat("5", "5").choices(), 1);
    let three =
        Workload::new(&WorkloadSpec { choices: 3, ..spec(Api::Chat, PromptForm::Text, "5", "5") }).unwrap();
    assert_eq!((three.choices(), &body(&three, 0)["n"]), (3, &json!(3)));
    assert_eq!(with(Api::Chat, json!({"n": 2})).unwrap().choices(), 2);
    assert!(with(Api::Chat, json!({"n": 0})).unwrap_err().to_string().contains("1 to 128"));
}

#[test]
fn what_cannot_be_sent_is_refused_with_the_remedy() {
    let ids_in_chat =
        Workload::new(&spec(Api::Chat, PromptForm::Ids(ids_below(30_001)), "5", "5")).unwrap_err();
    assert!(ids_in_chat.to_string().contains("use --api completions"), "{ids_in_chat}");
    for (api, key) in [(Api::Chat, "messages"), (Api::Completions, "prompt")] {
        let error = with(api, json!({key: "x"})).unwrap_err().to_string();
        assert!(error.contains("use --prompts"), "{error}");
    }
    let long = Workload::new(&spec(Api::Chat, PromptForm::Text, "5", "20000000")).unwrap_err().to_string();
    assert!(long.starts_with("output-tokens 20000000: must be at most"), "{long}");
}

#[test]
fn a_calibrated_prompt_has_the_words_that_make_the_tokens() {
    let fit = TokenFit::through((16, 45), (144, 301)).unwrap();
    let workload = chat("213", "16").calibrated(fit);
    assert_eq!(words(content(&body(&workload, 0))), 100, "13 around them, two a word");
    assert_eq!(workload.input_tokens(0), InputTokens { count: 213, exact: false });
    assert_eq!(words(content(&body(&chat("213", "16"), 0))), 213);
}

#[test]
fn a_probe_warms_no_requests_prefix() {
    let workload = chat("64", "16");
    let mut probe = Request::new();
    workload.probe(&head(), 0, 40, 3, &mut probe);
    let probe: Value = serde_json::from_slice(&probe.body()).unwrap();
    assert_eq!((words(content(&probe)), &probe["max_tokens"]), (40, &json!(3)));
    let first = |text: &str| text.split(' ').take(8).collect::<Vec<_>>().join(" ");
    assert!((0..1_000).all(|index| first(content(&body(&workload, index))) != first(content(&probe))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_request_is_well_formed(
        index: u64, seed: u64, tokens in 1..5_000_u32, prefix_tokens in 0..70_000_u32, form in 0..3_u8, model in "\\PC{1,20}", n in 1..9_u32,
    ) {
        let (api, form) = match form {
            0 => (Api::Chat, PromptForm::Text),
            1 => (Api::Completions, PromptForm::Text),
            _ => (Api::Completions, PromptForm::Ids(ids_below(30_001))),
        };
        let workload = Workload::new(&WorkloadSpec {
            seed, model: model.clone(), choices: n,
            source: Source::Synthetic { input_tokens: Counts::constant(tokens), prefix_tokens, form },
            ..spec(api, PromptForm::Text, "1", "lognormal:20:400")
        }).unwrap();
        let body = body(&workload, index);
        prop_assert_eq!(&body["model"], &json!(model));
        prop_assert_eq!(body["max_tokens"].as_u64(), workload.asked_output_tokens(index).map(u64::from));
        prop_assert_eq!(workload.input_tokens(index).count, prefix_tokens + tokens);
        prop_assert_eq!(workload.choices(), n);
    }
}
