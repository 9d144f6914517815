//! Plans of where connections go and how many there can be.

use super::*;

#[test]
fn several_servers_share_by_weight_and_each_has_its_own_credentials() {
    let two =
        "[target]\nurl = [\"http://me:pw@a\", \"unix:/run/b.sock:/v1\"]\nweights = \"3,1\"\n[load]\nrate = 5";
    let plan = plan(two);
    let urls: Vec<String> = plan.target.endpoints.iter().map(Endpoint::url).collect();
    assert_eq!(urls, ["http://a/v1/chat/completions", "unix:/run/b.sock:/v1/chat/completions"]);
    assert_eq!((plan.target.weights(), plan.target.balance), (vec![3, 1], Balance::RoundRobin));
    let route = plan.route();
    assert_eq!((0..8).map(|index| route.of(index, || index)).collect::<Vec<_>>(), [0, 0, 1, 0, 0, 0, 1, 0]);
    let secrets = plan.target.endpoints.iter().map(|endpoint| plan.target.headers_of(endpoint).count());
    assert_eq!(secrets.collect::<Vec<_>>(), [1, 0]);
    let keyed = Plan::new(raw(&two.replace("weights", "api-key = \"k\"\nweights")), &limits()).unwrap();
    for endpoint in &keyed.target.endpoints {
        let headers: Vec<&str> =
            keyed.target.headers_of(endpoint).map(|header| header.value.as_str()).collect();
        assert_eq!(headers, ["Bearer k"], "the key wins over user info");
    }
    assert!(plan.effective_toml().contains("balance = \"round-robin\""), "{}", plan.effective_toml());
    let workload = plan.workload("m", "run", None).unwrap();
    let head = |index| {
        let mut request = crate::workload::Request::new();
        workload.request(index, &mut request);
        String::from_utf8(request.to_bytes()).unwrap()
    };
    assert!(head(0).contains("\r\nHost: a\r\n") && head(0).contains("Authorization: Basic"), "{}", head(0));
    assert!(head(2).contains("\r\nHost: localhost\r\n") && !head(2).contains("Authorization"), "{}", head(2));
}

#[test]
fn ports_bound_connections_by_source_address_and_share() {
    let few_ports = Limits { source_ports: 1_000, ..limits() };
    let most = |target: &str, client: &str| {
        let toml = format!("[target]\n{target}\n[load]\nrate = 5\n[client]\n{client}");
        Plan::new(raw(&toml), &few_ports)
            .unwrap_or_else(|error| panic!("{toml}:\n{error}"))
            .client
            .connections
    };
    let one = "url = \"http://h\"";
    assert_eq!(most(one, ""), 1_000);
    assert_eq!(most(one, "source-ip = \"127.0.0.2-127.0.0.5\""), 4_000);
    assert_eq!(most("url = [\"http://h\", \"http://g\"]", ""), 2_000);
    assert_eq!(most("url = [\"http://h\", \"http://h/other\"]", ""), 1_000, "one port");
    assert_eq!(most("url = [\"http://h\", \"http://g\"]\nweights = \"4,1\"", ""), 1_250, "4/5 go to h");
    assert_eq!(most("url = \"unix:/run/a.sock\"", ""), 19_936, "files alone");
    let refused = refused_on(&format!("{URL}[load]\nconcurrency = 5000"), &few_ports).to_string();
    assert!(
        refused.contains("1000 source ports to one endpoint") && refused.contains("--source-ip"),
        "{refused}"
    );
}

#[test]
fn a_connection_for_each_request_is_said_to_close_and_warned_of_when_ports_run_out() {
    let new =
        |rate| plan(&format!("{URL}[load]\nrate = {rate}\n[client]\nconnections-per-request = \"new\""));
    let slow = new(400);
    assert!(!slow.client.reuse && !slow.client.preconnect && slow.caveats.is_empty());
    let mut head = Vec::new();
    slow.head(&slow.target.endpoints[0], "run").unwrap().write(0, 0, &mut head);
    assert!(String::from_utf8(head).unwrap().contains("Connection: close"));
    let fast = new(500);
    assert!(fast.caveats[0].contains("30000 ports in TIME_WAIT"), "{:?}", fast.caveats);
}
