//! Whether a plan fits the machine and itself: what does not is refused by the option that is the cause, with what would.

use super::*;

#[test]
fn what_cannot_work_here_is_refused_with_what_would() {
    let few_files = Limits { files: 1_000, ..limits() };
    let few_ports = Limits { source_ports: 500, ..limits() };
    for (limits, load, place, remedy) in [
        (&few_files, "concurrency = 5000", "--concurrency", "936 connections in 1000 open files"),
        (&few_files, "rate = 1\nmax-concurrency = 5000", "--max-concurrency", "ulimit -n"),
        (&few_ports, "concurrency = 5000", "--concurrency", "ip_local_port_range"),
    ] {
        let text = refused_on(&format!("{URL}[load]\n{load}"), limits).to_string();
        assert!(text.starts_with(place) && text.contains(remedy), "{remedy} in {text}");
    }
    let stage = format!("{URL}[[stage]]\nconcurrency = 5000\nduration = \"1s\"");
    assert!(refused_on(&stage, &few_files).to_string().starts_with("[[stage]] number 1, concurrency"));
}

#[test]
fn a_rate_that_needs_more_connections_than_there_are_is_refused_by_littles_law() {
    let slow = "[target]\nsim = true\n[sim]\nttft = \"10s\"\n[load]\nrate = 2000";
    let text = refused_on(slow, &limits()).to_string();
    assert!(text.contains("2000 requests/s at 10075ms a request keep 20150 in flight"), "{text}");
    assert!(
        text.contains("9968 connections in 20000 open files, the simulator's end being one too"),
        "{text}"
    );
}

#[test]
fn the_option_that_makes_the_connections_too_few_is_the_one_refused() {
    let sim = "[target]\nsim = true\n";
    let few_files = Limits { files: 164, ..limits() };
    for (toml, limits, place) in [
        (format!("{sim}[load]\nrate = 2000\n[sim]\nttft = \"10s\""), &limits(), "--sim-ttft"),
        (format!("{sim}[load]\nrate = 2000\n[sim]\nitl = \"1s\""), &limits(), "--sim-itl"),
        (
            format!("{sim}[load]\nrate = 2000\n[sim]\nprefill-per-token = \"100ms\""),
            &limits(),
            "--sim-prefill-per-token",
        ),
        (format!("{sim}[load]\nrate = 2000\n[payload]\noutput-tokens = 5000"), &limits(), "--output-tokens"),
        (format!("{sim}[load]\nrate = 200000"), &limits(), "--rate"),
        (
            format!("{sim}[[stage]]\nrate = 1\nrate-end = 200000\nduration = \"1s\""),
            &limits(),
            "[[stage]] number 1, rate-end",
        ),
        // A server that is not ours: what a fast one would need is refused where even that cannot be had.
        (format!("{URL}[load]\nrate = 2000"), &few_files, "--rate"),
    ] {
        let text = refused_on(&toml, limits).to_string();
        assert!(text.starts_with(place), "{place}: {text}");
        assert!(text.contains("in flight") && text.contains("ulimit -n"), "{text}");
    }
    let asked = Plan::new(raw(&format!("{URL}[load]\nrate = 2000\n[client]\nconnections = 50")), &few_files);
    assert_eq!(asked.unwrap().client.connections, 50, "whoever names a number has it");
}

#[test]
fn no_run_has_more_shards_than_it_may_hold_connections_or_requests() {
    for load in [
        "rate = 100000\nmax-concurrency = 2",
        "rate = 100000\n[client]\nconnections = 2",
        "concurrency = 2\n[payload]\nchoices = 128",
    ] {
        let plan = plan(&format!("{URL}[load]\n{load}"));
        assert_eq!(plan.client.cpus.len(), 2, "{load}: rho {}", plan.client.expected_rho);
    }
}

#[test]
fn the_simulators_places_are_at_least_its_shards() {
    let sim = "[target]\nsim = true\n[load]\nrate = 5\n[sim]\ncpus = \"1-3\"\nmax-running = 2";
    let text = refused_on(sim, &limits()).to_string();
    assert!(text.starts_with("--sim-max-running") && text.contains("at least 3"), "{text}");
    let alone =
        SimOptions { cpus: Some("1-3".into()), max_running: Some("2".into()), ..SimOptions::default() };
    let text = SimPlan::new(alone, &limits()).expect_err("2 places for 3 shards").to_string();
    assert!(text.starts_with("--max-running:") && text.contains("at least 3"), "{text}");
}

/// Machines without io_uring: why, what is said of it, and the remedy.
fn without_io_uring() -> Vec<(Limits, &'static str, &'static str)> {
    let refused = "io_uring is forbidden here: allow it";
    vec![
        (Limits { kernel: Some((5, 15)), ..limits() }, "this machine's kernel", "a newer kernel"),
        (
            Limits { io_uring_forbidden: Some("kernel.io_uring_disabled is 2: off".into()), ..limits() },
            "kernel.io_uring_disabled is 2: off",
            "kernel.io_uring_disabled=0",
        ),
        (Limits { ring_refused: Some(refused.into()), ..limits() }, "io_uring is forbidden here", "allow it"),
        (Limits { memlock_bytes: Some(64 * 1024), ..limits() }, "64 KiB", "ulimit -l"),
    ]
}

#[test]
fn where_io_uring_cannot_be_had_epoll_is_taken_and_said_in_one_line() {
    for (limits, why, remedy) in without_io_uring() {
        for toml in [
            format!("{URL}[load]\nrate = 1"),
            format!("{URL}[load]\nrate = 1\n[client]\nengine = \"auto\""),
            "[target]\nsim = true\n[load]\nrate = 1".to_owned(),
        ] {
            let plan = Plan::new(raw(&toml), &limits).unwrap();
            assert_eq!((plan.client.engine, plan.client.engine_by_name), (Engine::Epoll, false));
            assert!(plan.sim.is_none_or(|sim| sim.engine == Some(Engine::Epoll)), "as the client");
            let told: Vec<_> = plan.caveats.iter().filter(|caveat| caveat.contains("epoll")).collect();
            let [caveat] = told.as_slice() else { panic!("{told:?}") };
            assert!(caveat.contains(why) && caveat.contains(remedy) && !caveat.contains('\n'), "{caveat}");
        }
        let sim = SimPlan::new(SimOptions::default(), &limits).unwrap();
        assert_eq!(sim.engine, Some(Engine::Epoll));
        assert!(sim.caveat.unwrap().contains(remedy));
    }
}

#[test]
fn an_engine_asked_for_by_name_is_taken_or_refused() {
    let of = |name: &str| format!("{URL}[load]\nrate = 1\n[client]\nengine = \"{name}\"");
    for (limits, why, remedy) in without_io_uring() {
        let text = refused_on(&of("uring"), &limits).to_string();
        let all = [why, remedy, "do without io_uring (--engine epoll)"];
        assert!(all.iter().all(|part| text.contains(part)), "{all:?} in {text}");
        let uring = SimOptions { socket_engine: Some("uring".into()), ..SimOptions::default() };
        let text = SimPlan::new(uring, &limits).expect_err("refused").to_string();
        assert!(text.contains(remedy) && text.contains("(--socket-engine epoll)"), "{text}");
        let plan = Plan::new(raw(&of("epoll")), &limits).unwrap();
        assert_eq!((plan.client.engine, plan.client.engine_by_name), (Engine::Epoll, true));
        assert!(plan.caveats.iter().all(|caveat| !caveat.contains("epoll")), "it was asked for");
    }
    for (name, engine) in [("auto", Engine::Uring), ("uring", Engine::Uring), ("epoll", Engine::Epoll)] {
        let plan = plan(&of(name));
        assert_eq!(plan.client.engine, engine);
        assert!(plan.caveats.is_empty(), "{:?}", plan.caveats);
    }
    let text = refused_on(&of("io_uring"), &limits()).to_string();
    assert!(text.starts_with("--engine") && text.contains("auto, uring, epoll"), "{text}");
}

#[test]
fn the_simulators_engine_is_the_clients_unless_it_has_its_own() {
    let of = |client: &str, sim: &str| {
        let toml =
            format!("[target]\nsim = true\n[load]\nrate = 1\n[client]\nengine = \"{client}\"\n[sim]\n{sim}");
        let plan = plan(&toml);
        (plan.client.engine, plan.sim.unwrap().engine.unwrap())
    };
    assert_eq!(of("auto", ""), (Engine::Uring, Engine::Uring));
    assert_eq!(of("epoll", ""), (Engine::Epoll, Engine::Epoll));
    assert_eq!(of("uring", "socket-engine = \"epoll\""), (Engine::Uring, Engine::Epoll));
    assert_eq!(of("epoll", "socket-engine = \"uring\""), (Engine::Epoll, Engine::Uring));
    // The other engine of the simulator, which makes the tokens.
    let confused = "[target]\nsim = true\n[load]\nrate = 1\n[sim]\nengine = \"epoll\"";
    let text = refused_on(confused, &limits()).to_string();
    assert!(text.starts_with("--sim-engine") && text.contains("--sim-socket-engine epoll"), "{text}");
}

#[test]
fn locked_memory_that_is_too_little_is_said_in_plain_words() {
    let little = Limits { memlock_bytes: Some(64 * 1024), ..limits() };
    for (toml, whose) in [
        (format!("{URL}[load]\nrate = 1\n[client]\n"), "for 1 shard of the client\n"),
        (
            "[target]\nsim = true\n[load]\nrate = 1\n[client]\n".to_owned(),
            "for 1 shard of the client and 1 shard of the simulator\n",
        ),
        (format!("{URL}[load]\nrate = 1\n[client]\nshards = 3\n"), "for 3 shards of the client\n"),
    ] {
        let toml = format!("{toml}engine = \"uring\"");
        let text = refused_on(&toml, &little).to_string();
        assert!(
            text.contains("\"64 KiB\" is refused; accepted: at least ") && text.contains(whose),
            "{text}"
        );
    }
    let alone = SimOptions { socket_engine: Some("uring".into()), ..SimOptions::default() };
    let text = SimPlan::new(alone, &little).expect_err("64 KiB are too little").to_string();
    assert!(text.contains("1 shard of the simulator") && text.contains("ulimit -l"), "{text}");
}
