//! Whose the tail of TTFT is: the client's, the network's or the server's. The paper's misdiagnosis is to book the first two
//! with the third.
//!
//! It must not guess: what is not known of a part stays unknown, and is then the server's with no further split.

use crate::time::Span;

/// The 0.99 quantile of TTFT, by whose it is. The three parts add up to it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Blame {
    /// The 0.99 quantile of TTFT.
    pub p99: Span,
    /// At most so much of it is ours: its bias bound. Our own waits are not in it, for stamps are not ours.
    pub client: Span,
    /// The least round trip that TCP has measured: what the network takes of every request. `None` = not measured.
    pub network: Option<Span>,
    /// The rest: queueing, prefill, the server's own network stack.
    pub server: Span,
    /// Of the server's part: what it takes when idle, by the probe. `None` = no probe told it.
    pub server_idle: Option<Span>,
}

impl Blame {
    /// Divides `p99`; `bias` is its bound, `round_trip` TCP's least, `idle` the TTFT that the probe found without load.
    #[must_use]
    pub fn of(p99: Span, bias: Span, round_trip: Option<Span>, idle: Option<Span>) -> Self {
        let client = bias.min(p99);
        let network = round_trip.map(|rtt| rtt.min(p99 - client));
        let server = p99 - client - network.unwrap_or(Span::ZERO);
        // The probe's TTFT holds a round trip too.
        let server_idle = idle.map(|idle| (idle - network.unwrap_or(Span::ZERO)).max(Span::ZERO).min(server));
        Self { p99, client, network, server, server_idle }
    }

    /// Of the server's part: what load has added to the idle TTFT, waiting and contention.
    #[must_use]
    pub fn server_load(&self) -> Option<Span> {
        self.server_idle.map(|idle| self.server - idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn us(us: i64) -> Span {
        Span::from_us(us)
    }

    #[test]
    fn the_tail_is_divided_among_client_network_and_server() {
        let blame = Blame::of(us(24_300), us(33), Some(us(21)), Some(us(20_100)));
        assert_eq!((blame.client, blame.network, blame.server), (us(33), Some(us(21)), us(24_246)));
        assert_eq!((blame.server_idle, blame.server_load()), (Some(us(20_079)), Some(us(4_167))));
    }

    #[test]
    fn what_is_not_known_stays_unknown() {
        let blame = Blame::of(us(24_300), us(33), None, None);
        assert_eq!((blame.network, blame.server_idle, blame.server_load()), (None, None, None));
        assert_eq!(blame.server, us(24_267));
    }

    proptest! {
        #[test]
        fn the_parts_add_up_and_none_is_negative(
            p99 in 0_i64..1_000_000, bias in 0_i64..2_000_000,
            rtt in prop::option::of(0_i64..2_000_000), idle in prop::option::of(0_i64..2_000_000),
        ) {
            let blame = Blame::of(us(p99), us(bias), rtt.map(us), idle.map(us));
            let network = blame.network.unwrap_or(Span::ZERO);
            prop_assert_eq!(blame.client + network + blame.server, us(p99));
            for part in [blame.client, network, blame.server, blame.server_load().unwrap_or(Span::ZERO)] {
                prop_assert!(part >= Span::ZERO);
            }
        }
    }
}
