//! Our own side as a plan has it: shards by what the load is expected to cost, their cores, and the connections to open.

use super::*;

#[test]
fn automatic_shards_keep_the_expected_rho_low() {
    let roomy = Limits { files: 1_000_000, source_ports: 64_512, ..limits() };
    for (rate, tokens, shards) in
        [(1000, 16, 1), (1000, 37, 1), (1000, 38, 2), (5000, 16, 3), (100_000, 100, 4)]
    {
        let asked = raw(&format!("{URL}[load]\nrate = {rate}\n[payload]\noutput-tokens = {tokens}"));
        let plan = Plan::new(asked, &roomy).unwrap();
        assert_eq!(plan.client.cpus.len(), shards, "{rate}/s x {tokens}: rho {}", plan.client.expected_rho);
        assert_eq!(plan.caveats.is_empty(), plan.client.expected_rho <= 0.5);
    }
}

#[test]
fn a_measured_cost_takes_the_place_of_the_guess() {
    let cost = Cost {
        request: Span::from_us(10),
        event: Span::from_us(4),
        source: CostSource::Card("c".into()),
        ..Cost::default()
    };
    let limits = Limits { cost, ..limits() };
    // rho per shard = (rate x 10 us + rate x tokens x 4 us) / shards.
    for (rate, tokens, shards, rho) in [
        (1000, 16, 1, 0.074),
        (5000, 12, 1, 0.29),
        (5000, 16, 2, 0.185),
        (10_000, 20, 3, 0.3),
        (30_000, 20, 4, 0.675),
    ] {
        let toml = format!("{URL}[load]\nrate = {rate}\n[payload]\noutput-tokens = {tokens}");
        let client = Plan::new(raw(&toml), &limits).unwrap().client;
        assert_eq!(client.cpus.len(), shards, "{rate}/s x {tokens}: rho {}", client.expected_rho);
        assert!((client.expected_rho - rho).abs() < 1e-9, "{rate}/s x {tokens}: rho {}", client.expected_rho);
    }
    let toml = format!("{URL}[load]\nrate = 30000\n[payload]\noutput-tokens = 20");
    let caveats = Plan::new(raw(&toml), &limits).unwrap().caveats;
    assert!(caveats.iter().any(|words| words.contains("at 10us a request and 4us an event")), "{caveats:?}");
}

#[test]
fn a_card_that_is_not_used_is_a_caveat() {
    let limits = Limits { cost: Cost::refused("of another kernel".into()), ..limits() };
    let plan = Plan::new(raw(&format!("{URL}[load]\nrate = 1000")), &limits).unwrap();
    assert!(plan.caveats[0].contains("of another kernel"), "{:?}", plan.caveats);
    assert!((plan.client.expected_rho - 0.128).abs() < 1e-9, "the guess stands");
}

#[test]
fn the_simulator_has_a_core_of_its_own_where_there_are_two() {
    let sim = "[target]\nsim = true\n[load]\nrate = 100000";
    let two = Limits { cpus: vec![4, 9], ..limits() };
    let plan = Plan::new(raw(sim), &two).unwrap();
    assert_eq!((plan.client.cpus, plan.sim.unwrap().cpus), (vec![4], vec![9]));

    let one = Limits { cpus: vec![4], ..limits() };
    let plan = Plan::new(raw("[target]\nsim = true\n[load]\nrate = 1"), &one).unwrap();
    assert_eq!((plan.client.cpus, plan.sim.unwrap().cpus), (vec![4], vec![4]));
    assert!(plan.caveats[0].contains("share CPU 4"), "{:?}", plan.caveats);
}

#[test]
fn little_and_four_deviations_tell_the_connections_to_open() {
    let load = plan(&format!("{URL}[load]\nrate = 1000")).load;
    assert_eq!(load.expected_in_flight(Span::from_ms(100)), (100.0, 141));
    let load = plan(&format!("{URL}[load]\nrate = 1000\nmax-concurrency = 120")).load;
    assert_eq!(load.expected_in_flight(Span::from_ms(100)), (100.0, 120));
    let load = plan(&format!("{URL}[load]\nconcurrency = 7")).load;
    assert_eq!(load.expected_in_flight(Span::from_ms(100)), (7.0, 7));
}
