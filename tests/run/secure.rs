//! Whole runs over TLS, against the simulator and against servers that cannot be trusted.

use crate::program::{Folder, lowrho, run, text};
use crate::targets::{Server, free, good_summary};
use lowrho::tls::self_made;
use std::io::{Read, Write};

const FAST: &str = "--ttft 1ms";

/// A simulator of its own process over TLS: its address, and itself. Its certificate is in `sim.pem`.
fn secure(folder: &Folder, more: &str) -> (String, Server) {
    let place = free("127.0.0.1");
    let server = Server::start(folder, &place, &format!("{FAST} --tls --tls-cert-out sim.pem {more}"));
    (place, server)
}

/// What a run that must not begin says, and with what status it ends.
fn refusal(folder: &Folder, arguments: &str) -> (Option<i32>, String) {
    let output = run(folder, arguments);
    assert!(!folder.results().exists(), "nothing was measured");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn both_ends_of_a_run_speak_tls_and_nothing_fails() {
    let folder = Folder::new();
    let summary =
        good_summary(&folder, "--sim --sim-tls --sim-ttft 1ms --sim-itl 0s --concurrency 4 --requests 200");
    let load = &summary["load"];
    assert_eq!((&load["due"], &load["completed"], &load["failed"]), (&200.into(), &200.into(), &0.into()));
    assert!(summary["target"]["url"].as_str().unwrap().starts_with("https://127.0.0.1:"));
    let tls = &summary["client"]["tls"];
    assert_eq!((&tls["verified"], &tls["failed"]), (&true.into(), &0.into()), "{tls}");
    assert!(tls["handshakes"].as_u64().unwrap() >= 4, "{tls}");
    assert!(tls["spoken"].to_string().contains("TLSv1_3 TLS13_AES_"), "{tls}");
    let stamps = &summary["client"]["stamps"];
    assert_eq!((&stamps["user"], &stamps["lost"]), (&0.into(), &0.into()), "{stamps}");
    assert_eq!(summary["tokens"]["output_delivered"], summary["tokens"]["output_asked"]);
    for row in folder.rows() {
        assert_eq!(row["stamp"], "software", "{row}");
        let order: Vec<i64> = ["begun_ns", "sent_ns", "head_ns", "first_ns", "last_ns", "end_ns"]
            .map(|key| row[key].as_i64().unwrap())
            .into();
        assert!(order.is_sorted(), "{row}");
    }
}

#[test]
fn handshakes_of_requests_on_connections_of_their_own_are_timed_and_resume_earlier_ones() {
    let folder = Folder::new();
    let summary = good_summary(
        &folder,
        "--sim --sim-tls --no-probe --sim-ttft 1ms --sim-itl 0s --concurrency 2 --requests 40 \
         --connections-per-request new",
    );
    assert_eq!(summary["load"]["completed"], 40);
    let (handshake, connect) = (&summary["latency"]["handshake_ns"], &summary["latency"]["connect_ns"]);
    assert_eq!((&handshake["count"], &connect["count"]), (&40.into(), &40.into()));
    assert!(handshake["min"].as_i64().unwrap() > 0);
    let tls = &summary["client"]["tls"];
    // Each of the two slots may have begun before a ticket was there.
    assert!(tls["handshakes"].as_u64().unwrap() >= 40 && tls["resumed"].as_u64().unwrap() >= 38, "{tls}");
    for row in folder.rows() {
        let whole = row["connected_ns"].as_i64().unwrap() - row["begun_ns"].as_i64().unwrap();
        let handshake = row["handshake_ns"].as_i64().unwrap();
        assert!(0 < handshake && handshake <= whole, "{row}");
    }
    let again = Folder::new();
    let plain = good_summary(&again, "--sim --no-preconnect --concurrency 2 --requests 10");
    assert_eq!(
        (&plain["client"]["tls"], &plain["latency"]["handshake_ns"]["count"]),
        (&serde_json::Value::Null, &0.into())
    );
    assert!(again.rows().iter().all(|row| row.get("handshake_ns").is_none()));
}

#[test]
fn a_certificate_that_nobody_vouches_for_stops_a_run_with_the_remedy_and_a_file_or_a_word_lets_it_begin() {
    let folder = Folder::new();
    let (place, _server) = secure(&folder, "");
    let url = format!("--url https://{place} --rate 200 --requests 20");
    let (status, said) = refusal(&folder, &url);
    assert_eq!((status, said.lines().count()), (Some(4), 1), "{said}");
    assert!(said.contains("TLS failed") && said.contains("UnknownIssuer"), "{said}");
    assert!(said.contains("--ca-cert FILE") && said.contains("--insecure"), "{said}");
    // Without a probe, each request says so.
    let unproved = Folder::new();
    let output = run(&unproved, &format!("{url} --no-probe --no-preconnect --model m"));
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(unproved.summary()["errors"]["tls"], 20);
    assert!(unproved.rows().iter().all(|row| row["detail"].as_str().unwrap().contains("UnknownIssuer")));

    // Nor do connections opened ahead keep the run from beginning.
    let ahead = Folder::new();
    let output =
        run(&ahead, &format!("--url https://{place} --no-probe --model m --concurrency 4 --requests 8"));
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert_eq!(ahead.summary()["errors"]["tls"], 8);
    assert!(ahead.summary()["client"]["tls"]["failed"].as_u64().unwrap() >= 8);

    let certificate = folder.path().join("sim.pem");
    let trusting = Folder::new();
    let summary = good_summary(&trusting, &format!("{url} --ca-cert {}", certificate.display()));
    assert_eq!(
        (&summary["load"]["completed"], &summary["client"]["tls"]["verified"]),
        (&20.into(), &true.into())
    );
    assert_eq!(summary["target"]["model"], "lowrho-sim", "asked for over TLS");

    let careless = Folder::new();
    let output = run(&careless, &format!("{url} --insecure"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let summary = careless.summary();
    assert_eq!(
        (&summary["load"]["completed"], &summary["client"]["tls"]["verified"]),
        (&20.into(), &false.into())
    );
    assert!(summary["client"]["caveats"].to_string().contains("--insecure"));
    let page = text(&output.stdout);
    assert!(page.contains("note: --insecure") && page.contains("TLS: TLSv1_3"), "{page}");
}

#[test]
fn a_certificate_for_another_name_is_told_with_the_names_it_is_for() {
    let folder = Folder::new();
    let made = self_made(&["example.org"]).unwrap();
    std::fs::write(folder.path().join("other.pem"), format!("{}{}", made.certificate, made.key)).unwrap();
    let place = free("127.0.0.1");
    let _other = Server::start(&folder, &place, &format!("{FAST} --tls-cert other.pem"));
    let (status, said) = refusal(&folder, &format!("--url https://{place} --ca-cert other.pem --rate 10"));
    assert_eq!(status, Some(4), "{said}");
    assert!(said.contains("not valid for name") && said.contains("example.org"), "{said}");
}

#[test]
fn a_server_that_wants_to_know_its_clients_serves_those_that_show_a_certificate() {
    let folder = Folder::new();
    let me = self_made(&["me"]).unwrap();
    std::fs::write(folder.path().join("me.pem"), &me.certificate).unwrap();
    std::fs::write(folder.path().join("me.key"), &me.key).unwrap();
    let (place, _server) = secure(&folder, "--tls-client-ca me.pem");
    let url = format!("--url https://{place} --ca-cert sim.pem --rate 200 --requests 20");
    let (status, said) = refusal(&folder, &url);
    assert_eq!((status, said.lines().count()), (Some(4), 1), "{said}");
    assert!(said.contains("--client-cert") && said.contains("alert"), "{said}");
    let summary = good_summary(&folder, &format!("{url} --client-cert me.pem --client-key me.key"));
    assert_eq!((&summary["load"]["completed"], &summary["load"]["failed"]), (&20.into(), &0.into()));
    let secret: String = me.key.lines().nth(1).unwrap().chars().take(40).collect();
    for entry in std::fs::read_dir(folder.results()).unwrap().flatten().filter(|entry| entry.path().is_file())
    {
        let written = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
        assert!(!written.contains(&secret), "{:?} holds the key", entry.path());
    }
    assert_eq!(summary["config"]["target"]["client-key"], "me.key", "its file's name may be told");
}

#[test]
fn a_floor_of_a_server_that_speaks_tls_takes_the_same_options_as_a_run() {
    let folder = Folder::new();
    let (place, _server) = secure(&folder, "");
    let floor = |trust: &str| {
        let arguments = format!(
            "--url https://{place} {trust} --rates 100 --rung 300ms --shards 1 --card none --json --quiet"
        );
        lowrho(&folder).arg("floor").args(arguments.split_whitespace()).output().unwrap()
    };
    let unproved = floor("");
    assert_eq!(unproved.status.code(), Some(4), "{}", text(&unproved.stderr));
    for trust in ["--ca-cert sim.pem", "--insecure"] {
        let output = floor(trust);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        // Not by its rates: on a busy machine a short window can be over before the first is sent.
        let rung = &found["rungs"][0];
        assert!(rung["requests"].as_u64() > Some(0) && rung["failed"] == 0, "{found}");
    }
}

#[test]
fn a_server_in_the_clear_is_not_taken_for_a_broken_one() {
    let folder = Folder::new();
    let place = free("127.0.0.1");
    let _server = Server::start(&folder, &place, FAST);
    let (status, said) = refusal(&folder, &format!("--url https://{place} --insecure --rate 10"));
    assert_eq!((status, said.lines().count()), (Some(4), 1), "{said}");
    assert!(said.contains("TLS failed") && said.contains("write http://"), "{said}");
}

#[test]
fn what_tls_is_given_in_vain_or_cannot_use_is_refused_before_anything_is_sent() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("empty.pem"), "nothing").unwrap();
    for (arguments, words) in [
        ("--url http://127.0.0.1:1 --ca-cert empty.pem", "with a server that speaks TLS"),
        ("--url http://127.0.0.1:1 --insecure", "write https://"),
        ("--url https://127.0.0.1:1 --insecure --ca-cert empty.pem", "leave one of"),
        ("--url https://127.0.0.1:1 --client-key empty.pem", "--client-cert"),
        ("--url https://127.0.0.1:1 --ca-cert empty.pem", "--ca-cert empty.pem: no certificate was found"),
        ("--url https://127.0.0.1:1 --ca-cert gone.pem", "--ca-cert gone.pem: No such file"),
        ("--url https://127.0.0.1:1 --insecure --client-cert empty.pem", "--client-cert empty.pem: "),
        ("--url https://a_b%c:1 --insecure", "a host is made of"),
        ("--sim --sim-tls-key empty.pem", "with the certificate"),
        ("--sim --sim-tls-cert-out a.pem", "of its own making"),
        ("--sim --sim-tls --sim-listen unix:/tmp/never.sock", "in the clear"),
        ("--url http://127.0.0.1:1 --sim-tls", "with --sim only"),
    ] {
        let (status, said) = refusal(&folder, &format!("{arguments} --rate 10"));
        assert_eq!(status, Some(2), "{arguments}: {said}");
        assert!(said.contains(words), "{arguments}: {said}");
    }
}

#[test]
fn a_dry_run_tells_curl_whom_to_trust() {
    let folder = Folder::new();
    let me = self_made(&["me"]).unwrap();
    std::fs::write(folder.path().join("me.pem"), format!("{}{}", me.certificate, me.key)).unwrap();
    let shown = |arguments: &str| {
        let output = lowrho(&folder)
            .args(["run", "--dry-run", "--rate", "10"])
            .args(arguments.split_whitespace())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let (config, curl) = shown("--url https://h:8443 --model m --ca-cert me.pem --client-cert me.pem");
    assert!(curl.contains("'https://h:8443/v1/chat/completions'"), "{curl}");
    for part in ["--cacert 'me.pem'", "--cert 'me.pem'", "--key 'me.pem'"] {
        assert!(curl.contains(part), "{part} in {curl}");
    }
    assert!(config.contains("ca-cert = \"me.pem\"") && !config.contains("BEGIN"), "{config}");
    let (config, curl) = shown("--url https://h --model m --insecure");
    assert!(curl.contains("--insecure") && config.contains("caveat: --insecure"), "{config}{curl}");
    let (config, curl) = shown("--sim --sim-tls");
    assert!(curl.contains("--cacert 'sim.pem'") && curl.contains("--tls-cert-out sim.pem"), "{curl}");
    assert!(config.contains("over TLS"), "{config}");
}

#[test]
fn a_body_that_ends_without_a_word_from_tls_is_cut() {
    // The simulator announces its ends; this server does not, and its body has no other end.
    let made = self_made(&["127.0.0.1"]).unwrap();
    let folder = Folder::new();
    std::fs::write(folder.path().join("ca.pem"), &made.certificate).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let side = lowrho::tls::ServerSide::new(made.identity().unwrap(), None).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut session = side.session();
            let (mut heard, mut buffer) = (Vec::new(), [0; 16_384]);
            while !heard.ends_with(b"}") {
                let Ok(n @ 1..) = stream.read(&mut buffer) else { break };
                session.receive(&buffer[..n], &mut |plain| heard.extend_from_slice(plain)).unwrap();
                let mut own = Vec::new();
                session.output(&mut own);
                stream.write_all(&own).unwrap();
            }
            if !session.is_up() {
                continue;
            }
            let body = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
                        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
            let mut sealed = Vec::new();
            session.seal(&[std::io::IoSlice::new(body.as_bytes())], &mut sealed);
            let _ = stream.write_all(&sealed);
        }
    });
    run(
        &folder,
        &format!(
            "--url https://{place} --ca-cert ca.pem --model m --no-probe --no-preconnect --concurrency 1 --requests 3"
        ),
    );
    assert_eq!(folder.summary()["errors"]["truncated_body"], 3);
}
