//! The plan of `lowrho baseline`: lowrho and a peer in turn under the same load; starts nothing.

mod read;

use super::raw::{BaselineOptions, Raw, SimOptions, Text};
use super::{GUESSED_E2E, Limits, Plan, PlanError, SimPlan, format_cpus};
use crate::time::{Span, format_span};

/// Another load generator that lowrho can start.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Peer {
    /// Grafana k6, executor `constant-arrival-rate`.
    K6,
    /// oha under `-q`.
    Oha,
    /// wrk: a closed loop.
    Wrk,
}

impl Peer {
    /// Its name, as a command.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::K6 => "k6",
            Self::Oha => "oha",
            Self::Wrk => "wrk",
        }
    }

    /// Whether it drives a closed loop.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::Wrk)
    }
}

/// The load of one run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Offered {
    /// Requests per second, with constant gaps.
    Rate(u32),
    /// Requests in flight.
    Slots(u32),
}

/// The simulator of a baseline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BaselineSim {
    /// Its `--ttft`.
    pub ttft: String,
    /// Its `--itl`.
    pub itl: String,
    /// How long it takes for a request, on average, when it keeps up.
    pub e2e: Span,
}

/// Rounds of lowrho and a peer.
#[derive(Clone, PartialEq, Debug)]
pub struct BaselinePlan {
    /// The peer.
    pub peer: Peer,
    /// Its program, where one is named.
    pub binary: Option<String>,
    /// lowrho's coalescing windows, a side each; at least one.
    pub windows: Vec<String>,
    /// The load that is compared.
    pub offered: Offered,
    /// The lower rate, for the slope.
    pub second: Option<u32>,
    /// How long each run sends.
    pub duration: Span,
    /// Rounds.
    pub pairs: u32,
    /// Whether the highest rates are searched.
    pub search: bool,
    /// Tokens of each answer.
    pub tokens: u32,
    /// Tokens of each prompt.
    pub input_tokens: u32,
    /// CPUs of the clients.
    pub client_cpus: Vec<usize>,
    /// CPUs of the server; empty where it is not ours and none were named.
    pub server_cpus: Vec<usize>,
    /// The simulator; `None` = another server is driven.
    pub sim: Option<BaselineSim>,
    /// The other server; empty where the simulator is driven.
    pub url: String,
    /// The model asked for.
    pub model: String,
    /// Where the JSON goes.
    pub json: Option<String>,
    /// Where the files of the runs are kept.
    pub out: Option<String>,
    /// No progress on stderr.
    pub quiet: bool,
    /// What is to be said of it beside its numbers.
    pub caveats: Vec<String>,
    /// Connections, where a number was given.
    connections: Option<u32>,
    /// What a child may have: this machine's limits on the client's CPUs.
    limits: Limits,
}

/// Connections unless the load needs more: what oha and the usual script of k6 open.
const USUAL_CONNECTIONS: u32 = 50;

/// What stands for a server that is still to be started.
const SOME_URL: &str = "http://127.0.0.1:80";

/// The highest rate worth asking: beyond what one machine's loopback carries.
pub const MOST_BASELINE_RATE: u32 = 1_000_000;

impl BaselinePlan {
    /// The baseline that `asked` means on a machine with these `limits`.
    ///
    /// # Errors
    /// Every mistake found in the options; else those of the first run that cannot be.
    pub fn new(asked: &BaselineOptions, limits: &Limits) -> Result<Self, PlanError> {
        let plan = read::plan(asked, limits)?.with_sim(limits)?;
        for window in &plan.windows {
            for offered in plan.loads() {
                plan.run(offered, plan.duration, window, SOME_URL)?;
            }
        }
        Ok(plan)
    }

    /// The loads of each round: the one that is compared, and the lower one where there is one.
    #[must_use]
    pub fn loads(&self) -> Vec<Offered> {
        std::iter::once(self.offered).chain(self.second.map(Offered::Rate)).collect()
    }

    /// Requests due in so long; `None` in a closed loop.
    #[must_use]
    pub fn due(&self, offered: Offered, length: Span) -> Option<u64> {
        match offered {
            Offered::Slots(_) => None,
            Offered::Rate(rate) => {
                // Of equal gaps from 0 on, those that begin before the end.
                let ns = i128::from(length.as_ns()) * i128::from(rate);
                u64::try_from((ns + 999_999_999) / 1_000_000_000).ok()
            }
        }
    }

    /// Connections of a client under this load.
    #[must_use]
    pub fn connections(&self, offered: Offered) -> u32 {
        match offered {
            Offered::Slots(slots) => slots,
            Offered::Rate(rate) => self.connections.unwrap_or_else(|| {
                let e2e = self.sim.as_ref().map_or(GUESSED_E2E, |sim| sim.e2e);
                let mean = f64::from(rate) * e2e.as_s_f64();
                // Four deviations above the mean of a Poisson number are hardly ever exceeded.
                ceiling(mean + 4.0 * libm::sqrt(mean)).max(USUAL_CONNECTIONS)
            }),
        }
    }

    /// The options of lowrho's run under this load, against the server at `url`.
    #[must_use]
    pub fn options(&self, offered: Offered, length: Span, window: &str, url: &str) -> Raw {
        let text = |number: u64| Some(Text(number.to_string()));
        let mut raw = Raw::default();
        raw.target.url = vec![Text(url.to_owned())];
        raw.target.model = Some(Text(self.model.clone()));
        // A request before the run would be in the server's log, and no peer sends one.
        raw.target.no_probe = Some(true);
        match offered {
            Offered::Rate(rate) => {
                raw.load.rate = text(rate.into());
                raw.load.arrival = Some("constant".into());
                raw.load.requests = self.due(offered, length).and_then(text);
                raw.client.connections = text(self.connections(offered).into());
            }
            Offered::Slots(slots) => {
                raw.load.concurrency = text(slots.into());
                raw.load.duration = Some(Text(format_span(length)));
            }
        }
        // No peer sends on after the last request that counts.
        raw.load.cooldown = Some("0s".into());
        raw.payload.input_tokens = text(self.input_tokens.into());
        raw.payload.output_tokens = text(self.tokens.into());
        raw.client.cpus = Some(Text(format_cpus(&self.client_cpus)));
        raw.client.card = Some("none".into());
        raw.client.coalesce = Some(Text(window.to_owned()));
        // No peer keeps a row of every request.
        raw.output.records = Some("none".into());
        raw.output.quiet = Some(true);
        raw.verdict.require = Some("any".into());
        raw
    }

    /// lowrho's run of these options, checked.
    ///
    /// # Errors
    /// What of it cannot be on this machine.
    pub fn run(&self, offered: Offered, length: Span, window: &str, url: &str) -> Result<Plan, PlanError> {
        Plan::new(self.options(offered, length, window, url), &self.limits)
    }

    /// The options of the simulator.
    fn sim_options(&self, sim: &BaselineSim) -> SimOptions {
        SimOptions {
            ttft: Some(Text(sim.ttft.clone())),
            itl: Some(Text(sim.itl.clone())),
            cpus: Some(Text(format_cpus(&self.server_cpus))),
            ..SimOptions::default()
        }
    }

    /// Checks the simulator, and takes from it how long a request takes.
    fn with_sim(mut self, limits: &Limits) -> Result<Self, PlanError> {
        if let Some(sim) = self.sim.clone() {
            let plan = SimPlan::new(self.sim_options(&sim), limits)?;
            self.model.clone_from(&plan.script.model);
            let e2e = plan.expected_e2e(f64::from(self.input_tokens), f64::from(self.tokens));
            self.sim = Some(BaselineSim { e2e, ..sim });
        }
        let needed = self.loads().into_iter().map(|offered| (offered, self.expected_in_flight(offered)));
        let most = needed.max_by_key(|(_, needed)| *needed);
        if let (Some(given), Some((_, needed))) = (self.connections, most)
            && self.sim.is_some()
            && given < needed
        {
            self.caveats.push(format!(
                "{needed} requests are expected in flight at once, and each side has {given} connections: --connections {needed} \
                 is what it takes"
            ));
        }
        Ok(self)
    }

    fn expected_in_flight(&self, offered: Offered) -> u32 {
        match (offered, &self.sim) {
            (Offered::Rate(rate), Some(sim)) => ceiling(f64::from(rate) * sim.e2e.as_s_f64()),
            (Offered::Rate(_), None) => 0,
            (Offered::Slots(slots), _) => slots,
        }
    }
}

/// The least whole number that is not below.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and what is counted is not negative"
)]
fn ceiling(number: f64) -> u32 {
    libm::ceil(number) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn k6() -> BaselineOptions {
        BaselineOptions { tool: Some("k6".into()), ..BaselineOptions::default() }
    }

    fn said(options: &BaselineOptions, cpus: &[usize]) -> String {
        BaselinePlan::new(options, &Limits::roomy(cpus)).expect_err("it must be refused").to_string()
    }

    #[test]
    fn the_usual_baseline_keeps_client_and_server_apart() {
        let plan = BaselinePlan::new(&k6(), &Limits::roomy(&[0, 1, 2])).unwrap();
        assert_eq!((plan.client_cpus.as_slice(), plan.server_cpus.as_slice()), (&[0, 1][..], &[2][..]));
        assert_eq!((plan.offered, plan.second, plan.pairs), (Offered::Rate(1_000), Some(500), 5));
        assert_eq!(plan.windows, ["auto", "0"]);
        assert_eq!(plan.due(plan.offered, plan.duration), Some(8_000));
        assert_eq!(plan.connections(plan.offered), 50);
        assert!(plan.caveats.is_empty(), "{:?}", plan.caveats);
        let raw = plan.options(plan.offered, plan.duration, "auto", "http://127.0.0.1:9");
        assert_eq!(Raw::from_toml(&raw.to_toml()).unwrap(), raw, "the child reads what was meant");
    }

    #[test]
    fn requests_that_take_long_need_more_connections() {
        let slow = BaselineOptions { ttft: Some("20ms".into()), itl: Some("5ms".into()), ..k6() };
        let plan = BaselinePlan::new(&slow, &Limits::roomy(&[0, 1])).unwrap();
        // 1,000 a second for 55 ms each: 55, and four times their root.
        assert_eq!(plan.connections(plan.offered), 85);
        let few = BaselineOptions { connections: Some("20".into()), ..slow };
        let plan = BaselinePlan::new(&few, &Limits::roomy(&[0, 1])).unwrap();
        assert_eq!(plan.connections(plan.offered), 20);
        assert!(plan.caveats[0].contains("55 requests"), "{:?}", plan.caveats);
    }

    #[test]
    fn one_cpu_is_shared_and_told_and_two_are_kept_apart() {
        let plan = BaselinePlan::new(&k6(), &Limits::roomy(&[3])).unwrap();
        assert!(plan.client_cpus == [3] && plan.server_cpus == [3] && plan.caveats.len() == 1);
        let both = BaselineOptions { client_cpus: Some("0-1".into()), ..k6() };
        assert!(said(&both, &[0, 1]).contains("CPU 1 would be the server's too"));
        let other = BaselineOptions { client_cpus: Some("1".into()), ..k6() };
        let plan = BaselinePlan::new(&other, &Limits::roomy(&[0, 1])).unwrap();
        assert_eq!((plan.client_cpus, plan.server_cpus), (vec![1], vec![0]));
    }

    #[test]
    fn what_a_tool_cannot_do_is_refused_with_what_it_can() {
        let text = |word: &str| Some(Text::from(word));
        let wrk = BaselineOptions { tool: text("wrk"), ..BaselineOptions::default() };
        for (options, why) in [
            (
                BaselineOptions { tool: text("hey"), ..k6() },
                "TOOL: \"hey\" is refused; accepted: k6, oha, wrk",
            ),
            (BaselineOptions { rate: text("1"), ..wrk.clone() }, "--rate"),
            (BaselineOptions { duration: text("1500ms"), ..wrk.clone() }, "whole seconds"),
            (BaselineOptions { search: Some(true), ..wrk.clone() }, "--search"),
            (BaselineOptions { concurrency: text("5"), ..k6() }, "with wrk"),
            (BaselineOptions { second_rate: text("1000"), ..k6() }, "from 0 to 999"),
            (BaselineOptions { pairs: text("0"), ..k6() }, "from 1 to 1000"),
            (BaselineOptions { windows: text("auto,auto"), ..k6() }, "different windows"),
            (
                BaselineOptions { windows: text("auto,9h"), ..k6() },
                "--windows: \"9h\" is refused; accepted: auto, 0",
            ),
            (BaselineOptions { url: text("https://x"), model: text("m"), ..k6() }, "http://"),
            (BaselineOptions { url: text("http://x"), ..k6() }, "--model"),
            (BaselineOptions { ttft: text("soon"), ..k6() }, "--ttft"),
            (
                BaselineOptions { url: text("http://x"), model: text("m"), search: Some(true), ..k6() },
                "accepted: without --url",
            ),
        ] {
            let said = said(&options, &[0, 1]);
            assert!(said.contains(why), "{options:?}: {said}");
        }
        let closed = BaselinePlan::new(&wrk, &Limits::roomy(&[0, 1])).unwrap();
        assert_eq!((closed.offered, closed.second), (Offered::Slots(50), None));
        assert_eq!(closed.due(closed.offered, closed.duration), None);
    }
}
