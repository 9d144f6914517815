//! The texts of `/proc` and `/sys` to values; opens no file.

/// `6.18.44-rc1` to (6, 18).
pub(super) fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// `net.ipv4.ip_local_port_range`, both ends included.
pub(super) fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut ends = text.split_ascii_whitespace().map(str::parse::<u16>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (low <= high).then_some((low, high))
}

/// The CPU's name in `/proc/cpuinfo`: `model name` on x86, `Model` or `Hardware` on some others.
pub(super) fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "Model", "Hardware", "cpu model"]
        .iter()
        .find_map(|field| value(cpuinfo, field))
        .map(str::to_owned)
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
pub(super) fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kib = value(meminfo, "MemTotal")?.strip_suffix(" kB")?;
    kib.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Whether the effective capabilities of `/proc/self/status` hold the one of this number.
pub(super) fn has_capability(status: &str, number: u32) -> bool {
    let mask = value(status, "CapEff").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    mask.is_some_and(|mask| mask >> number & 1 == 1)
}

/// What follows `field:` on its line.
fn value<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == field && !value.trim().is_empty()).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_many_distributions_tell_their_version() {
        for (release, version) in [
            ("6.18.44-fc-v857", Some((6, 18))),
            ("5.15.0-91-generic", Some((5, 15))),
            ("6.1", Some((6, 1))),
            ("6.6+", Some((6, 6))),
            ("6", None),
            ("linux", None),
        ] {
            assert_eq!(kernel_version(release), version, "{release}");
        }
    }

    #[test]
    fn the_range_of_ports_is_two_numbers() {
        assert_eq!(port_range("32768\t60999\n"), Some((32768, 60999)));
        for broken in ["", "1", "5 4", "a b", "1 70000"] {
            assert_eq!(port_range(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn the_cpus_name_is_found_on_several_architectures() {
        let x86 = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R) @ 2.80GHz\n";
        assert_eq!(cpu_model(x86).as_deref(), Some("Intel(R) Xeon(R) @ 2.80GHz"));
        let arm = "processor\t: 0\nBogoMIPS\t: 108.00\n\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4\n";
        assert_eq!(cpu_model(arm).as_deref(), Some("Raspberry Pi 4"));
        assert_eq!(cpu_model("processor : 0\n"), None);
    }

    #[test]
    fn memory_is_given_in_bytes() {
        assert_eq!(memory_bytes("MemTotal:       16374468 kB\nMemFree: 1 kB\n"), Some(16_374_468 * 1024));
        assert_eq!(memory_bytes("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn a_capability_is_a_bit_of_the_mask() {
        let root = "Name:\tx\nCapEff:\t000001ffffffffff\n";
        let user = "Name:\tx\nCapEff:\t0000000000000000\n";
        assert!(has_capability(root, 14) && !has_capability(user, 14) && !has_capability("", 14));
        assert!(has_capability("CapEff:\t0000000000004000\n", 14));
    }
}
