//! The text of source addresses, single ones and ranges, to the addresses; asks no machine whether they are its own.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// More than this many make no sense to anyone: 4,096 x 28,232 ports are a hundred million connections.
const MOST: usize = 4096;

/// What is accepted as a list of sources.
pub(super) const ACCEPTED: &str =
    "addresses and ranges, such as 127.0.0.2,127.0.0.4-127.0.0.9 or fd00::1-fd00::8";

/// The addresses of `text`, in the order given, each once.
pub(super) fn read(text: &str) -> Result<Vec<IpAddr>, String> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (from, to) = part.split_once('-').map_or((part, part), |(from, to)| (from.trim(), to.trim()));
        let one = |text: &str| text.parse::<IpAddr>().map_err(|_| format!("{text:?} is not an IP address"));
        let (from, to) = (one(from)?, one(to)?);
        let count = distance(from, to).ok_or_else(|| format!("{part} does not go upwards"))?;
        if count >= MOST || all.len() + count >= MOST {
            return Err(format!("at most {MOST} addresses"));
        }
        all.extend(range(from, count));
    }
    for (at, address) in all.iter().enumerate() {
        if all[..at].contains(address) {
            return Err(format!("{address} is named twice"));
        }
    }
    Ok(all)
}

/// How many addresses lie after `from`, up to `to`; `None` when that is before it or of the other family.
fn distance(from: IpAddr, to: IpAddr) -> Option<usize> {
    let between = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => u128::from(to.to_bits().checked_sub(from.to_bits())?),
        (IpAddr::V6(from), IpAddr::V6(to)) => to.to_bits().checked_sub(from.to_bits())?,
        _ => return None,
    };
    Some(usize::try_from(between).unwrap_or(usize::MAX))
}

/// `from` and the `count` addresses after it.
fn range(from: IpAddr, count: usize) -> impl Iterator<Item = IpAddr> {
    (0..=count).map(move |n| {
        let n = u32::try_from(n).expect("at most as many as are allowed");
        match from {
            IpAddr::V4(from) => Ipv4Addr::from_bits(from.to_bits() + n).into(),
            IpAddr::V6(from) => Ipv6Addr::from_bits(from.to_bits() + u128::from(n)).into(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ranges_are_taken_in_order() {
        let texts = |text: &str| read(text).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts("127.0.0.2"), ["127.0.0.2"]);
        assert_eq!(texts("127.0.0.255-127.0.1.1, ::1"), ["127.0.0.255", "127.0.1.0", "127.0.1.1", "::1"]);
        assert_eq!(texts("fd00::ffff-fd00::1:0"), ["fd00::ffff", "fd00::1:0"]);
    }

    #[test]
    fn what_is_no_list_of_addresses_is_refused() {
        for (text, why) in [
            ("", "not an IP address"),
            ("localhost", "not an IP address"),
            ("127.0.0.9-127.0.0.2", "upwards"),
            ("127.0.0.2-::1", "upwards"),
            ("127.0.0.0-127.255.0.0", "at most 4096"),
            ("::-ffff::", "at most 4096"),
            ("127.0.0.2,127.0.0.1-127.0.0.3", "127.0.0.2 is named twice"),
        ] {
            let said = read(text).expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
