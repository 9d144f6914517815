//! The ways to one server: each of its addresses from each of our own, taken in turn.
//!
//! It must not connect, nor remember whose turn it is: each shard counts for itself.

use crate::ring::Address;
use std::net::IpAddr;

/// Where connections to one server go, and where they come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ways {
    addresses: Vec<Address>,
    /// Our own addresses of IPv4 and of IPv6; none = the kernel's choice.
    sources: [Vec<IpAddr>; 2],
}

impl Ways {
    /// The ways to `addresses` from `sources`.
    ///
    /// # Panics
    /// When there is no address.
    #[must_use]
    pub fn new(addresses: Vec<Address>, sources: &[IpAddr]) -> Self {
        assert!(!addresses.is_empty(), "a server has an address");
        let (four, six) = sources.iter().partition(|source| source.is_ipv4());
        Self { addresses, sources: [four, six] }
    }

    /// How many different ways there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.addresses.iter().map(|address| self.sources_to(address).len().max(1)).sum()
    }

    /// The `nth` way: addresses change fastest, so that few connections already use all of them.
    #[must_use]
    pub fn nth(&self, nth: usize) -> (&Address, Option<IpAddr>) {
        let address = &self.addresses[nth % self.addresses.len()];
        let sources = self.sources_to(address);
        let round = nth / self.addresses.len();
        (address, round.checked_rem(sources.len()).map(|at| sources[at]))
    }

    fn sources_to(&self, address: &Address) -> &[IpAddr] {
        match address.tcp() {
            Some(to) => &self.sources[usize::from(to.is_ipv6())],
            None => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use std::path::Path;

    fn tcp(text: &str) -> Address {
        text.parse::<SocketAddr>().unwrap().into()
    }

    #[test]
    fn every_address_is_reached_from_every_source_of_its_family() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let sources = [ip("127.0.0.2"), ip("127.0.0.3"), ip("::1")];
        let ways = Ways::new(vec![tcp("127.0.0.1:1"), tcp("[::1]:1")], &sources);
        assert_eq!(ways.count(), 3);
        let first: Vec<_> = (0..4).map(|nth| ways.nth(nth)).collect();
        assert_eq!(
            first,
            [
                (&tcp("127.0.0.1:1"), Some(sources[0])),
                (&tcp("[::1]:1"), Some(sources[2])),
                (&tcp("127.0.0.1:1"), Some(sources[1])),
                (&tcp("[::1]:1"), Some(sources[2])),
            ]
        );
    }

    #[test]
    fn without_sources_the_kernel_chooses_and_a_path_needs_none() {
        let here = Address::Unix(Path::new("/run/a.sock").into());
        assert_eq!(Ways::new(vec![tcp("127.0.0.1:1")], &[]).nth(7), (&tcp("127.0.0.1:1"), None));
        let ways = Ways::new(vec![here.clone()], &["127.0.0.2".parse().unwrap()]);
        assert_eq!((ways.nth(7), ways.count()), ((&here, None), 1));
    }
}
