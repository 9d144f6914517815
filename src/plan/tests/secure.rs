//! Plans of servers that speak TLS, and of a simulator that does.

use super::*;

const HTTPS: &str = "[target]\nurl = \"https://h/v1\"\n";
const RATE: &str = "[load]\nrate = 5\n";

#[test]
fn an_https_server_is_met_with_the_hosts_own_authorities_unless_told() {
    let usual = plan(&format!("{HTTPS}{RATE}"));
    assert!(usual.target.is_secure() && usual.caveats.is_empty());
    assert_eq!((usual.target.endpoints[0].port, &usual.target.tls), (443, &Tls::default()));
    let told = plan(&format!("{HTTPS}ca-cert = \"ca.pem\"\nclient-cert = \"me.pem\"\n{RATE}"));
    let file = |name: &str| Some(name.to_owned());
    let expected = Tls {
        ca_cert: file("ca.pem"),
        client_cert: file("me.pem"),
        client_key: file("me.pem"),
        insecure: false,
    };
    assert_eq!(told.target.tls, expected, "a key may lie in its certificate's file");
    let careless = plan(&format!("{HTTPS}insecure = true\n{RATE}"));
    assert!(careless.target.tls.insecure);
    assert!(careless.caveats[0].starts_with("--insecure"), "{:?}", careless.caveats);
    let mixed = plan(&format!("[target]\nurl = [\"http://a\", \"https://b\"]\nca-cert = \"ca.pem\"\n{RATE}"));
    assert_eq!(
        mixed.target.endpoints.iter().map(|endpoint| endpoint.secure).collect::<Vec<_>>(),
        [false, true]
    );
}

#[test]
fn what_tls_has_no_use_for_is_refused() {
    for (toml, words) in [
        (format!("{URL}ca-cert = \"ca.pem\"\n{RATE}"), "with a server that speaks TLS"),
        (format!("{URL}ca-cert = \"ca.pem\"\n{RATE}"), "write https://"),
        (format!("[target]\nsim = true\nca-cert = \"ca.pem\"\n{RATE}"), "add --sim-tls"),
        (format!("{URL}insecure = true\n{RATE}"), "with a server that speaks TLS"),
        (format!("{HTTPS}insecure = true\nca-cert = \"ca.pem\"\n{RATE}"), "without --ca-cert"),
        (format!("{HTTPS}client-key = \"me.key\"\n{RATE}"), "with --client-cert"),
        (format!("{HTTPS}ca-cert = \" \"\n{RATE}"), "the name of a file"),
        (format!("{HTTPS}{RATE}[sim]\ntls = true"), "with --sim only"),
        (format!("[target]\nsim = true\n{RATE}[sim]\ntls-key = \"k\""), "with the certificate"),
        (format!("[target]\nsim = true\n{RATE}[sim]\ntls-cert-out = \"c\""), "of its own making"),
        (format!("[target]\nsim = true\n{RATE}[sim]\ntls-client-ca = \"c\""), "with TLS"),
        (
            format!("[target]\nsim = true\n{RATE}[sim]\ntls = true\nlisten = \"unix:/run/x.sock\""),
            "in the clear",
        ),
    ] {
        let refused = refused_on(&toml, &limits()).to_string();
        assert!(refused.contains(words), "{toml}:\n{refused}");
    }
}

#[test]
fn the_simulator_may_make_its_certificate_or_be_given_one() {
    let sim = |options: &str| {
        let plan = plan(&format!("[target]\nsim = true\n{RATE}[sim]\n{options}"));
        (plan.target.endpoints[0].secure, plan.sim.unwrap().tls)
    };
    assert_eq!(sim("ttft = \"1ms\""), (false, None));
    let made =
        |out: Option<&str>| SimTls { identity: SimIdentity::SelfMade(out.map(Into::into)), client_ca: None };
    assert_eq!(sim("tls = true"), (true, Some(made(None))));
    assert_eq!(sim("tls = true\ntls-cert-out = \"c\""), (true, Some(made(Some("c")))));
    let files = SimIdentity::Files { cert: "c".into(), key: "c".into() };
    let given = SimTls { identity: files, client_ca: Some("a".into()) };
    assert_eq!(sim("tls-cert = \"c\"\ntls-client-ca = \"a\""), (true, Some(given)));
}

#[test]
fn what_is_laid_over_a_file_takes_its_tls_away_where_it_makes_no_sense() {
    let file = || {
        raw(
            "[target]\nurl = \"https://h\"\nca-cert = \"ca.pem\"\nclient-cert = \"me.pem\"\nclient-key = \"me.key\"",
        )
    };
    let over = |upper: &str| raw(upper).over(file()).target;
    let plain = over("[target]\nurl = \"http://g\"");
    assert_eq!((plain.ca_cert, plain.client_cert, plain.client_key), (None, None, None));
    assert_eq!(over("[target]\nurl = \"HTTPS://g\"").ca_cert, Some("ca.pem".into()));
    assert_eq!(over("[target]\nsim = true").ca_cert, None);
    assert_eq!(over("[target]\ninsecure = true").ca_cert, None);
    let another = over("[target]\nclient-cert = \"you.pem\"");
    assert_eq!((another.client_cert, another.client_key), (Some("you.pem".into()), None));
}
