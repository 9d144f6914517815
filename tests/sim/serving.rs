//! What a well-behaved simulator serves.

use crate::client::{Client, chat_request};
use crate::{config, script, start, start_with};
use lowrho::script::Script;
use lowrho::sim::{Sim, SimConfig};
use lowrho::wire::{Api, Response};

const USAGE: &str = r#","stream_options":{"include_usage":true}"#;

#[test]
fn a_streamed_chat_is_whole_and_its_connection_is_used_again() {
    let sim = start("2ms", "1ms");
    let mut client = Client::new(sim.address());
    for tokens in [1, 8, 40] {
        let answer = client.chat(tokens, USAGE);
        assert_eq!((answer.reply.status, answer.reply.error), (Some(200), None));
        assert_eq!((answer.tokens, answer.reply.output_tokens), (tokens as usize, Some(u64::from(tokens))));
        assert_eq!(answer.reply.usage.prompt_tokens, Some(9));
        assert!(answer.reply.reusable);
        assert_eq!(answer.reply.counters, Default::default(), "nothing odd");
    }
    let report = sim.join();
    assert_eq!((report.requests(), report.shards[0].connections, report.shards[0].tokens), (3, 1, 49));
    assert!(report.rho().is_some() && report.lateness(0.5).is_some());
}

#[test]
fn without_delays_all_comes_at_once_and_is_whole() {
    let sim = start("0s", "0s");
    let mut client = Client::new(sim.address());
    for _ in 0..200 {
        assert_eq!(client.chat(8, "").tokens, 8);
    }
    assert_eq!(client.chat(5_000, "").tokens, 5_000, "a burst larger than any socket's buffer");
}

#[test]
fn completions_stream_and_come_whole() {
    let sim = start("1ms", "0s");
    let mut client = Client::new(sim.address());
    let answer = client.completion(r#"{"prompt":[1,2,3,4,5],"stream":true,"max_tokens":6}"#);
    assert_eq!((answer.reply.error, answer.tokens), (None, 6));
    let answer = client.completion(r#"{"prompt":[1,2,3,4,5],"max_tokens":6}"#);
    assert_eq!((answer.reply.status, answer.reply.error), (Some(200), None));
    let usage = answer.reply.usage;
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(5), Some(6)));
}

#[test]
fn models_health_and_metrics_are_served_and_other_paths_are_not() {
    let sim = start("0s", "0s");
    let mut client = Client::new(sim.address());
    assert_eq!(lowrho::wire::model_ids(client.get("/v1/models").body().as_bytes()), ["tiny"]);
    assert_eq!((client.get("/health").reply.status, client.get("/health").body()), (Some(200), ""));
    client.chat(7, "");
    let page = client.get("/metrics");
    assert!(page.body().contains("\nvllm:generation_tokens_total{engine=\"0\",model_name=\"tiny\"} 7.0\n"));
    let missing = client.get("/nowhere");
    assert_eq!((missing.reply.status, missing.body()), (Some(404), r#"{"detail":"Not Found"}"#));
    let wrong = client.completion(r#"{"model":"nope","prompt":"x"}"#);
    assert_eq!(wrong.reply.status, Some(404));
    assert!(wrong.body().contains("The model `nope` does not exist."));
    let bad = client.completion(r#"{"prompt":"#);
    assert_eq!(bad.reply.status, Some(400));
    assert_eq!(client.chat(2, "").tokens, 2, "after all that the connection still serves");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let sim = start("1ms", "0s");
    let mut client = Client::new(sim.address());
    client.send(&format!("{}GET /health HTTP/1.1\r\n\r\n", chat_request("a", 3, "")));
    let both = {
        let mut all = String::new();
        let first = client.hear(Response::new(client.expect(Api::Chat)));
        all.push_str(&first.text);
        if all.matches("HTTP/1.1 200 OK").count() < 2 {
            all.push_str(&client.hear(Response::unary(client.expect(Api::Chat))).text);
        }
        all
    };
    let (chat, health) =
        (both.find("[DONE]").expect("the chat"), both.rfind("content-length: 0").expect("health"));
    assert!(chat < health);
}

#[test]
fn one_too_many_waits_its_turn_and_the_metrics_say_so() {
    let sim = start_with(Script { max_running: Some(1), ..script("0s", "24h") });
    let mut first = Client::new(sim.address());
    first.send(&chat_request("first", 2, ""));
    let mut watcher = Client::new(sim.address());
    let mut wait_for = |running: &str, waiting: &str| {
        let labels = "{engine=\"0\",model_name=\"tiny\"}";
        for _ in 0..10_000 {
            let page = watcher.get("/metrics");
            let shows = |name: &str, n: &str| page.body().contains(&format!("vllm:{name}{labels} {n}\n"));
            if shows("num_requests_running", running) && shows("num_requests_waiting", waiting) {
                return;
            }
        }
        panic!("never {running} running and {waiting} waiting");
    };
    wait_for("1.0", "0.0");
    let mut second = Client::new(sim.address());
    second.send(&chat_request("second", 1, ""));
    wait_for("1.0", "1.0");
    drop(first);
    let answer = second.hear(Response::new(second.expect(Api::Chat)));
    assert_eq!((answer.reply.error, answer.tokens), (None, 1));
    wait_for("0.0", "0.0");
}

#[test]
fn many_connections_at_once_are_all_served() {
    let sim = start("5ms", "1ms");
    let mut clients: Vec<Client> = (0..200).map(|_| Client::new(sim.address())).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.send(&chat_request(&format!("many-{n}"), 5, ""));
    }
    for client in &mut clients {
        let answer = client.hear(Response::new(client.expect(Api::Chat)));
        assert_eq!((answer.reply.error, answer.tokens), (None, 5));
    }
    assert_eq!(sim.join().shards[0].connections, 200);
}

#[test]
fn a_long_prompt_in_many_pieces_is_read_to_its_end() {
    let sim = start("0s", "0s");
    let mut client = Client::new(sim.address());
    let prompt = "low ".repeat(100_000);
    let answer =
        client.completion(&format!(r#"{{"prompt":"{prompt}","stream":true,"max_tokens":2{USAGE}}}"#));
    assert_eq!((answer.reply.error, answer.reply.usage.prompt_tokens), (None, Some(100_000)));
}

#[test]
fn shards_share_one_address_and_one_page_of_metrics() {
    let cpus: Vec<usize> =
        core_affinity::get_core_ids().expect("CPUs").iter().map(|id| id.id).take(2).collect();
    let shards = cpus.len();
    let sim = Sim::start(&SimConfig { script: script("0s", "0s"), cpus, ..config() }).expect("shards");
    for _ in 0..40 {
        assert_eq!(Client::new(sim.address()).chat(3, "").tokens, 3);
    }
    let page = Client::new(sim.address()).get("/metrics");
    assert!(page.body().contains("vllm:generation_tokens_total{engine=\"0\",model_name=\"tiny\"} 120.0\n"));
    let report = sim.join();
    assert_eq!((report.shards.len(), report.requests()), (shards, 40));
}

#[test]
fn a_stopped_simulator_is_gone_and_its_port_free() {
    let sim = start("24h", "0s");
    let address = sim.address();
    let mut client = Client::new(address);
    client.send(&chat_request("never", 1, ""));
    let report = sim.join();
    assert!(report.requests() <= 1);
    let again = Sim::start(&SimConfig { addresses: vec![address.into()], ..config() })
        .expect("the port is free again");
    assert_eq!(again.address(), address);
}

#[test]
fn what_cannot_start_says_why() {
    let refused = |config: SimConfig| Sim::start(&config).err().expect("refused").to_string();
    let twice = refused(SimConfig { cpus: vec![0, 0], ..config() });
    assert!(twice.contains("cpu 0 twice"), "{twice}");
    let far = refused(SimConfig { cpus: vec![99_999], ..config() });
    assert!(far.contains("cpu 99999"), "{far}");
    let taken = start("0s", "0s");
    let busy = refused(SimConfig { addresses: taken.addresses().to_vec(), ..config() });
    assert!(busy.contains(&taken.address().port().to_string()), "{busy}");
    let log = refused(SimConfig { log: Some("/nowhere/at/all.jsonl".into()), ..config() });
    assert!(log.contains("--log /nowhere/at/all.jsonl"), "{log}");
}
