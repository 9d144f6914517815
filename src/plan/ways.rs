//! How many connections the ports of this host allow to the servers of a plan; opens none.

use super::expected::whole_f64;
use super::{Listen, Load, SimPlan, Target};
use core::net::IpAddr;

/// How long the end that closes first keeps a connection's ports, on Linux (`TCP_TIMEWAIT_LEN`).
const TIME_WAIT_S: f64 = 60.0;

/// The servers by what their ports allow. A connection's ports are free again for another server or another source, so
/// each pair of addresses has the whole range.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Ways {
    /// Of each server behind a port: pairs of a source and an address of it, and its share of the requests, 0 to 1.
    servers: Vec<(usize, f64)>,
    sources: usize,
}

impl Ways {
    pub(super) fn to(target: &Target, sources: &[IpAddr], sim: Option<&SimPlan>) -> Self {
        let sources = sources.len().max(1);
        let all = target.weights().iter().copied().map(f64::from).sum::<f64>();
        let mut servers: Vec<(&str, u16, f64)> = Vec::new();
        for endpoint in target.endpoints.iter().filter(|endpoint| endpoint.socket.is_none()) {
            let share = f64::from(endpoint.weight) / all;
            // Two bases of one server have one port.
            match servers.iter_mut().find(|(host, port, _)| (*host, *port) == (&endpoint.host, endpoint.port))
            {
                Some((.., so_far)) => *so_far += share,
                None => servers.push((&endpoint.host, endpoint.port, share)),
            }
        }
        // How many addresses a name has is known when it is resolved: one at least.
        let addresses =
            sim.map_or(1, |sim| sim.listen.iter().filter(|place| matches!(place, Listen::Tcp(_))).count());
        let is_local = sim.is_some() && addresses == 0;
        let servers = servers.into_iter().filter(|_| !is_local);
        Self { servers: servers.map(|(.., share)| (addresses * sources, share)).collect(), sources }
    }

    /// The most connections at once, where so many ports lead from one address to another; `None` = ports bound nothing.
    pub(super) fn most(&self, ports: u32) -> Option<u64> {
        let most = self.servers.iter().map(|(pairs, share)| whole_f64(*pairs) * f64::from(ports) / share);
        most.reduce(f64::min).map(whole)
    }

    /// What the ports mean, in words.
    pub(super) fn words(&self, ports: u32) -> String {
        let servers = match self.servers.len() {
            1 => "to one endpoint".to_owned(),
            n => format!("to each of {n} endpoints by its share"),
        };
        match self.sources {
            1 => format!("{ports} source ports {servers}"),
            n => format!("{ports} source ports of each of {n} addresses {servers}"),
        }
    }

    /// What is to be said of a connection for each request, where the load closes more than ports come free again.
    pub(super) fn exhausted_by(&self, load: &Load, ports: u32) -> Option<String> {
        let (rate_per_s, most) = (load.peak_rate_per_s()?, self.most(ports)?);
        let waiting = whole(rate_per_s * TIME_WAIT_S);
        (waiting > most).then(|| {
            format!(
                "a connection for each request can leave {waiting} ports in TIME_WAIT (60 s each), and there are {most} \
                 ({}): connects may fail with EADDRNOTAVAIL; add --source-ip or widen net.ipv4.ip_local_port_range",
                self.words(ports)
            )
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and more than fits is as good as no bound"
)]
fn whole(count: f64) -> u64 {
    count as u64
}
