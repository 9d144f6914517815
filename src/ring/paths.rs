//! What TCP itself knows of the connections: retransmissions and the least round trip, asked when one is closed.
//!
//! It must not be asked on a hot path: each question is a system call.
//! Layout: `struct tcp_info` in linux/tcp.h, which only grows at its end.

use crate::time::Span;

/// What TCP told of the connections that were asked.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Paths {
    /// Connections asked.
    pub connections: u64,
    /// Segments of ours that were sent again.
    pub retransmits: u64,
    /// The least round trip of any, to the microsecond; `None` = none was measured.
    pub min_rtt: Option<Span>,
}

/// `tcpi_total_retrans` and `tcpi_min_rtt` (microseconds; all ones = not measured), and where they end.
const TOTAL_RETRANS: usize = 100;
const MIN_RTT: usize = 148;
/// As much of the structure as is read.
pub(super) const INFO_BYTES: usize = MIN_RTT + 4;

impl Paths {
    /// Adds what TCP told of one connection.
    pub(super) fn see(&mut self, info: &[u8]) {
        let Some(retransmits) = u32_at(info, TOTAL_RETRANS) else { return };
        self.connections += 1;
        self.retransmits += u64::from(retransmits);
        let rtt = u32_at(info, MIN_RTT).filter(|us| *us != u32::MAX && *us > 0);
        let rtt = rtt.map(|us| Span::from_us(i64::from(us)));
        self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(retransmits: u32, min_rtt_us: u32) -> Vec<u8> {
        let mut info = vec![0xAB; INFO_BYTES];
        info[TOTAL_RETRANS..TOTAL_RETRANS + 4].copy_from_slice(&retransmits.to_ne_bytes());
        info[MIN_RTT..MIN_RTT + 4].copy_from_slice(&min_rtt_us.to_ne_bytes());
        info
    }

    #[test]
    fn retransmissions_add_up_and_the_least_round_trip_stays() {
        let mut paths = Paths::default();
        for info in [info(2, 90), info(0, 31), info(1, u32::MAX), info(0, 40)] {
            paths.see(&info);
        }
        assert_eq!(paths, Paths { connections: 4, retransmits: 3, min_rtt: Some(Span::from_us(31)) });
    }

    #[test]
    fn an_old_kernels_shorter_answer_has_no_round_trip_and_half_an_answer_is_none() {
        let mut paths = Paths::default();
        paths.see(&info(5, 90)[..TOTAL_RETRANS + 4]);
        paths.see(&info(5, 90)[..TOTAL_RETRANS]);
        assert_eq!(paths, Paths { connections: 1, retransmits: 5, min_rtt: None });
    }
}
