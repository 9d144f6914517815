//! Each format: the quantities that are lined up, with their values, and those that are not.

use super::{assert_is, figure, one, text};
use Quantity::{
    Completed, E2e, E2eDone, E2eEnd, ErrorRate, Failed, Head, InputTokensPerS, Itl, Lateness, NtpotSent,
    NtpotWeighted, OutputTokensPerS, RequestedRate, RequestsPerS, Tpot, Ttfe, Ttfo, Ttft,
};
use Statistic::{Max, Mean, Min, P50, P90, P95, P99, P99_9, Sd, Value};
use lowrho::foreign::{ForeignError, KNOWN, Quantity, Reading, Statistic, read};

const MS: f64 = 1e6;

/// TTFT (mean, least, greatest, in milliseconds) and rate of `aiperf-0.13-rows.jsonl`, as AIPerf itself told them.
const ROWS_TTFT: [f64; 3] = [20.982258350000002, 20.762446999999998, 21.379383999999998];
const ROWS_RATE: f64 = 19.610233567049566;

/// Fails unless none of these has a row, and each is told apart with the reason.
fn assert_apart(reading: &Reading, quantities: &[Quantity]) {
    for quantity in quantities {
        assert!(!reading.has(*quantity), "{}: {quantity:?}", reading.name);
        let apart = reading.apart.iter().find(|apart| apart.not == *quantity);
        assert!(
            apart.is_some_and(|apart| !apart.why.is_empty()),
            "{}: {quantity:?} is not told",
            reading.name
        );
    }
}

#[test]
fn every_form_of_k6_says_the_same_kind_of_thing() {
    for name in
        ["k6-1.1-export.json", "k6-1.1-handle.json", "k6-1.8-machine-full.json", "k6-1.8-machine-handle.json"]
    {
        let k6 = one(name);
        assert_is(&k6, Completed, Value, 501.0);
        assert_eq!(figure(&k6, Failed, Value), Some(0.0), "{name}");
        let rate = figure(&k6, RequestsPerS, Value).unwrap();
        assert!((99.0..99.2).contains(&rate), "{name}: {rate}");
        let e2e = figure(&k6, E2eEnd, Mean).unwrap() / MS;
        assert!((55.0..55.5).contains(&e2e), "{name}: {e2e}");
        assert!(!k6.has(Ttft) && !k6.has(E2e), "{name}");
    }
    assert!(one("k6-1.8-machine-full.json").has(Head) && one("k6-1.1-handle.json").has(Head));
    // The compact machine-readable summary has no http_req_waiting.
    assert!(!one("k6-1.8-machine-handle.json").has(Head));
}

#[test]
fn k6_knows_the_responses_head_and_no_token() {
    let k6 = one("k6-2.2-export.json");
    assert_is(&k6, Completed, Value, 3_001.0);
    assert_is(&k6, RequestsPerS, Value, 297.240_441_550_820_55);
    assert_is(&k6, Head, P99, 20.552_232 * MS);
    assert_is(&k6, E2eEnd, Mean, 95.269_458_196_267_7 * MS);
    assert_is(&k6, E2eEnd, P50, 95.241_38 * MS);
    assert_is(&k6, E2eEnd, Max, 101.455_702 * MS);
    assert_apart(&k6, &[Ttft]);
}

#[test]
fn k6_with_failures_lines_up_successes_alone() {
    let failing = text("k6-2.2-export.json").replacen(
        "\"passes\": 0,\n   \"fails\": 3001",
        "\"passes\": 1001,\n   \"fails\": 2000",
        1,
    );
    let k6 = read(&failing, "k6").unwrap().remove(0);
    assert_is(&k6, Completed, Value, 2_000.0);
    assert_is(&k6, Failed, Value, 1_001.0);
    assert_is(&k6, RequestsPerS, Value, 297.240_441_550_820_55 * 2_000.0 / 3_001.0);
    assert_apart(&k6, &[Head, Ttft]);
    assert!(k6.has(E2eEnd));
}

#[test]
fn vllms_result_is_read_with_and_without_details() {
    for name in ["vllm-0.33.json", "vllm-0.33-detailed.json"] {
        let vllm = one(name);
        assert_is(&vllm, Completed, Value, 3_000.0);
        assert_is(&vllm, RequestedRate, Value, 300.0);
        assert_is(&vllm, RequestsPerS, Value, 296.879_586_894_761_76);
        assert_is(&vllm, OutputTokensPerS, Value, 4_750.073_390_316_188);
        assert_is(&vllm, InputTokensPerS, Value, 165_050.0 / 10.105_107_028_000_02);
        // With the completions API its TTFT ends at the first message with choices.
        assert_is(&vllm, Ttfe, P99, 23.006_813_940_055_494 * MS);
        assert_is(&vllm, Tpot, Sd, 0.022_801_506_559_417_6 * MS);
        assert_is(&vllm, E2e, P90, 96.985_795_099_635_65 * MS);
        assert_apart(&vllm, &[Ttft, Itl]);
    }
}

#[test]
fn vllms_chat_backend_has_a_ttft_and_another_backend_has_nothing_to_line_up() {
    let vllm = |backend: &str| {
        let text = text("vllm-0.33.json").replace("\"openai\"", &format!("\"{backend}\""));
        read(&text, "vllm").unwrap().remove(0)
    };
    let chat = vllm("openai-chat");
    assert_is(&chat, Ttft, Mean, 21.426_918_900_003_33 * MS);
    assert!(!chat.has(Ttfe));
    assert_apart(&vllm("tgi"), &[Ttft, Itl, Tpot, E2e]);
}

#[test]
fn vllms_rust_client_takes_a_chats_opening_message_for_the_first() {
    let rust = one("vllm-rust-0.33.json");
    assert_is(&rust, Completed, Value, 40.0);
    assert_is(&rust, RequestsPerS, Value, 19.446_041_623_466_474);
    assert_is(&rust, Ttfe, P90, 20.429_611_4 * MS);
    assert_is(&rust, Tpot, P50, 4.998_734_785_714_284_5 * MS);
    assert_is(&rust, E2e, P99, 60.397_742_24 * MS);
    assert_apart(&rust, &[Ttft, Itl]);
    let chat = text("vllm-rust-0.33.json").replace("\"openai\"", "\"openai-chat\"");
    let chat = read(&chat, "vllm").unwrap().remove(0);
    assert!(chat.has(Ttfe) && !chat.has(Ttft), "the Python client's chat has TTFT");
}

#[test]
fn sglangs_line_is_read_whichever_of_its_clients_wrote_it() {
    let sglang = one("sglang-0.5.23.jsonl");
    assert_is(&sglang, RequestsPerS, Value, 269.039_006_349_952_56);
    assert_is(&sglang, Ttft, P99, 24.115_584_680_216_656 * MS);
    assert_is(&sglang, Itl, P95, 5.754_792_550_169_439 * MS);
    assert_is(&sglang, E2eDone, P50, 96.271_408_999_882_62 * MS);
    assert_apart(&sglang, &[Tpot]);
    let rust = one("sglang-rust-0.5.23.jsonl");
    assert_is(&rust, OutputTokensPerS, Value, 3_643.896_507_367_451_7);
    assert!(rust.has(Ttft) && rust.has(Itl) && rust.has(E2eDone));
    assert_apart(&rust, &[Tpot]);
}

#[test]
fn several_lines_are_several_runs() {
    let two = text("sglang-0.5.23.jsonl").repeat(2);
    let names: Vec<String> = read(&two, "s").unwrap().into_iter().map(|reading| reading.name).collect();
    assert_eq!(names, ["s#1", "s#2"]);
}

#[test]
fn aiperfs_inter_token_latency_is_tpot_and_its_waiting_no_head() {
    let aiperf = one("aiperf-0.13.json");
    assert_is(&aiperf, Completed, Value, 3_000.0);
    assert_is(&aiperf, RequestsPerS, Value, 297.083_696_696_774_1);
    assert_is(&aiperf, Ttft, P50, 20.982_125_5 * MS);
    assert_is(&aiperf, Tpot, P50, 4.984_740_766_666_666_5 * MS);
    assert_is(&aiperf, Itl, P99, 10.015_840_28 * MS);
    assert_is(&aiperf, E2e, Max, 131.876_784 * MS);
    assert!(aiperf.has(Ttfo));
    assert_apart(&aiperf, &[Head]);
}

#[test]
fn aiperfs_rows_come_to_what_its_summary_of_them_says() {
    let rows = one("aiperf-0.13-rows.jsonl");
    assert_is(&rows, Completed, Value, 60.0);
    assert_eq!(figure(&rows, Failed, Value), Some(0.0));
    // The mean and the extremes that the tool's own summary of the same run has.
    assert_is(&rows, Ttft, Mean, ROWS_TTFT[0] * MS);
    assert_is(&rows, Ttft, Min, ROWS_TTFT[1] * MS);
    assert_is(&rows, Ttft, Max, ROWS_TTFT[2] * MS);
    // AIPerf divides by a time that is longer than from its rows' first start to their last end.
    let rate = figure(&rows, RequestsPerS, Value).unwrap();
    assert!((ROWS_RATE..1.03 * ROWS_RATE).contains(&rate), "{rate}");
    assert!(rows.figure(Ttft, P90).is_some() && rows.figure(Ttft, P99).is_none(), "60 requests tell no p99");
    assert!(rows.figure(Itl, P99).is_some(), "420 gaps do");
    assert!(rows.notes.iter().any(|note| note.contains("3 rows of the warm-up")), "{:?}", rows.notes);
}

#[test]
fn inference_perfs_requests_come_to_what_its_summary_of_them_says() {
    let rows = one("inference-perf-0.7-requests.json");
    assert_is(&rows, Completed, Value, 20.0);
    assert_eq!(figure(&rows, Failed, Value), Some(0.0));
    // As the tool's own summary of the same run has them.
    assert_is(&rows, Ttft, Mean, 21.443_146_4 * MS);
    assert_is(&rows, E2eEnd, Mean, 36.806_752_05 * MS);
    assert_is(&rows, RequestsPerS, Value, 10.053_116_82);
    // Not as its summary has them, where a message's tokens all have its time (mean ITL 3.06 ms).
    let itl = figure(&rows, Itl, Mean).unwrap() / MS;
    assert!((4.9..5.1).contains(&itl), "{itl} ms");
    assert_is(&rows, OutputTokensPerS, Value, 4.0 * 10.053_116_82);
}

#[test]
fn inference_perfs_summary_and_stage_are_read() {
    for name in ["inference-perf-0.7-stage.json", "inference-perf-0.7-summary.json"] {
        let found = one(name);
        assert_is(&found, Completed, Value, 2_999.0);
        assert_is(&found, RequestsPerS, Value, 297.352_377_130_913_57);
        assert_is(&found, Ttft, P99, 25.770_021_960_097_43 * MS);
        assert_is(&found, Tpot, P50, 4.998_507_000_012_372 * MS);
        assert_is(&found, NtpotSent, P99_9, 14.023_644_355_759_507 * MS);
        assert_is(&found, E2eEnd, Mean, 97.808_147_413_474_47 * MS);
        // A lateness may be below zero there.
        assert_is(&found, Lateness, Min, -1.282_627_178_170_514_5 * MS);
        assert_apart(&found, &[Itl]);
    }
    assert_is(&one("inference-perf-0.7-stage.json"), RequestedRate, Value, 300.0);
}

#[test]
fn guidellms_tpot_and_itl_are_kept_apart() {
    let found = one("guidellm-0.8.json");
    assert_is(&found, Completed, Value, 60.0);
    assert_is(&found, RequestedRate, Value, 20.0);
    assert_is(&found, RequestsPerS, Value, 29.982_239_991_364_83);
    assert_is(&found, Ttft, Mean, 4.226_283_232_371_012 * MS);
    assert_is(&found, E2eEnd, P50, 3.753_185_272_216_797 * MS);
    // Token-weighted, its mean is the sum of E2E over the sum of N.
    assert_is(&found, NtpotWeighted, Value, 0.602_909_922_599_792_5 * MS);
    assert_apart(&found, &[Tpot, Itl]);
}

#[test]
fn oha_is_read_as_json_and_as_text() {
    for name in ["oha-1.16.json", "oha-1.16.txt"] {
        let oha = one(name);
        assert_is(&oha, Completed, Value, 495.0);
        assert_eq!(figure(&oha, ErrorRate, Value), Some(0.0), "{name}");
        let (p50, rate) =
            (figure(&oha, E2eEnd, P50).unwrap() / MS, figure(&oha, RequestsPerS, Value).unwrap());
        assert!((55.0..55.5).contains(&p50) && (98.5..99.5).contains(&rate), "{name}: {p50} ms, {rate}/s");
        assert!(oha.notes.iter().any(|note| note.contains("given up")), "{:?}", oha.notes);
    }
    assert_is(&one("oha-1.16.txt"), E2eEnd, P95, 55.322 * MS);
    assert_apart(&one("oha-1.16.json"), &[Ttft]);
}

#[test]
fn oha_with_other_statuses_lines_up_no_latency() {
    let text = text("oha-1.16.json").replace("\"200\": 495", "\"200\": 400,\n  \"503\": 95");
    let oha = read(&text, "oha").unwrap().remove(0);
    assert_is(&oha, Failed, Value, 95.0);
    assert_apart(&oha, &[E2eEnd]);
}

#[test]
fn wrks_latencies_are_corrected_ones_and_kept_apart() {
    let wrk = one("wrk-4.1.txt");
    assert_is(&wrk, Completed, Value, 1_440.0);
    assert_is(&wrk, RequestsPerS, Value, 1_440.0 / 5.01);
    assert_apart(&wrk, &[E2eEnd]);
    assert!(wrk.apart[0].figures.contains(&(P99, 58.78 * MS)), "{:?}", wrk.apart);
    let errors = one("wrk-4.1-errors.txt");
    assert_eq!(figure(&errors, Completed, Value), Some(0.0));
    assert_is(&errors, ErrorRate, Value, 1.0);
}

#[test]
fn what_is_not_known_is_refused_with_what_is() {
    for (text, word) in [
        (text("llm-perf-0.1.11.json"), "llm-perf"),
        ("{\"a\": 1}".into(), "no tool is known"),
        ("hello".into(), "no tool is known"),
        ("[]".into(), "no tool is known"),
        ("{\"request_latency\": {\"unit\": \"ms\"}}".into(), "GenAI-Perf"),
    ] {
        let error = read(&text, "x").unwrap_err();
        assert!(matches!(error, ForeignError::Unknown(_)), "{error}");
        let told = error.to_string();
        assert!(told.contains(word), "{word}: {told}");
        assert!(KNOWN.iter().all(|known| told.contains(known.file)), "{told}");
    }
}
