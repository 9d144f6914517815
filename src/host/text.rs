//! The texts of `/proc` and `/sys` to values; opens no file.

use crate::time::Span;
use std::net::{Ipv4Addr, Ipv6Addr};

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

/// Time runnable and not running, the second number of `schedstat`.
pub(super) fn run_delay(schedstat: &str) -> Option<Span> {
    let ns = schedstat.split_ascii_whitespace().nth(1)?.parse::<i64>().ok()?;
    Some(Span::from_ns(ns))
}

/// The mode of seccomp in a process's `status`.
pub(super) fn seccomp(status: &str) -> Option<u8> {
    value(status, "Seccomp")?.parse().ok()
}

/// Voluntary and involuntary switches in a thread's `status`.
pub(super) fn switches(status: &str) -> Option<(u64, u64)> {
    let count = |field| value(status, field)?.parse::<u64>().ok();
    Some((count("voluntary_ctxt_switches")?, count("nonvoluntary_ctxt_switches")?))
}

/// Ticks stolen from all CPUs, and from each, in `/proc/stat`: the eighth number of its `cpu` lines.
pub(super) fn steal(stat: &str) -> Option<(i64, Vec<(usize, i64)>)> {
    let mut total = None;
    let mut by_cpu = Vec::new();
    for line in stat.lines().take_while(|line| line.starts_with("cpu")) {
        let mut words = line.split_ascii_whitespace();
        let name = words.next()?;
        // Kernels from before virtual machines have fewer numbers.
        let Some(ticks) = words.nth(7).and_then(|word| word.parse().ok()) else { continue };
        match name.strip_prefix("cpu")?.parse() {
            Ok(cpu) => by_cpu.push((cpu, ticks)),
            Err(_) => total = Some(ticks),
        }
    }
    Some((total?, by_cpu))
}

/// Ticks that each CPU was idle, waited for disks or was stolen in `/proc/stat`: the fourth, fifth and eighth number of its
/// `cpuN` lines.
pub(super) fn unbusy(stat: &str) -> Vec<(usize, i64)> {
    let of = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: Vec<i64> = words.map_while(|word| word.parse().ok()).collect();
        let [_, _, _, idle, iowait, _, _, steal, ..] = ticks.as_slice() else { return None };
        Some((cpu, idle + iowait + steal))
    };
    stat.lines().take_while(|line| line.starts_with("cpu")).filter_map(of).collect()
}

/// Dropped and squeezed of all CPUs in `/proc/net/softnet_stat`: the second and third hexadecimal number of each line.
pub(super) fn softnet(stat: &str) -> Option<(u64, u64)> {
    let mut sum = None;
    for line in stat.lines() {
        let mut numbers = line.split_ascii_whitespace().map(|word| u64::from_str_radix(word, 16));
        let (dropped, squeezed) = (numbers.nth(1)?.ok()?, numbers.next()?.ok()?);
        let (all_dropped, all_squeezed) = sum.unwrap_or((0, 0));
        sum = Some((all_dropped + dropped, all_squeezed + squeezed));
    }
    sum
}

/// What a process or thread has used, in its `stat`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Usage {
    pub(super) name: String,
    /// User and system time in ticks.
    pub(super) ticks: u64,
    pub(super) threads: u64,
    /// The CPU it ran on last.
    pub(super) cpu: usize,
}

/// proc_pid_stat(5): the name is in parentheses and may hold any character; 14 and 15 are the times, 20 the threads, 39
/// the CPU.
pub(super) fn usage(stat: &str) -> Option<Usage> {
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(open + 1..close)?.to_owned();
    // The first word behind the name is number 3.
    let words: Vec<&str> = stat.get(close + 1..)?.split_ascii_whitespace().collect();
    let number = |nth: usize| words.get(nth - 3)?.parse::<u64>().ok();
    Some(Usage {
        name,
        ticks: number(14)? + number(15)?,
        threads: number(20)?,
        cpu: usize::try_from(number(39)?).ok()?,
    })
}

/// The interface of the longest prefix that holds `to` in `/proc/net/route`, whose addresses are in memory's order.
pub(super) fn interface_v4(table: &str, to: Ipv4Addr) -> Option<String> {
    let to = u32::from_ne_bytes(to.octets());
    let routes = table.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let hex = |nth: usize| u32::from_str_radix(words.get(nth)?, 16).ok();
        let (destination, flags, mask) = (hex(1)?, hex(3)?, hex(7)?);
        let metric = words.get(6)?.parse::<u32>().ok()?;
        let fits = flags & UP != 0 && flags & REJECT == 0 && to & mask == destination;
        fits.then(|| (mask.count_ones(), std::cmp::Reverse(metric), words[0].to_owned()))
    });
    routes.max().map(|(_, _, interface)| interface)
}

/// The same in `/proc/net/ipv6_route`: destination and prefix length, six numbers more, flags, interface.
pub(super) fn interface_v6(table: &str, to: Ipv6Addr) -> Option<String> {
    let to = u128::from(to);
    let routes = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let hex = |nth: usize| u128::from_str_radix(words.get(nth)?, 16).ok();
        let (destination, length, metric, flags) = (hex(0)?, hex(1)?, hex(5)?, hex(8)?);
        let length = u32::try_from(length).ok().filter(|length| *length <= 128)?;
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        let fits = flags & u128::from(UP) != 0 && flags & u128::from(REJECT) == 0 && to & mask == destination;
        fits.then(|| (length, std::cmp::Reverse(metric), (*words.get(9).unwrap_or(&"")).to_owned()))
    });
    routes.max().map(|(_, _, interface)| interface).filter(|interface| !interface.is_empty())
}

/// `RTF_UP` and `RTF_REJECT` of linux/route.h.
const UP: u32 = 0x1;
const REJECT: u32 = 0x200;

/// `0,2-5` as the kernel writes lists of CPUs.
pub(super) fn cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// `00000000,0000000f`: hexadecimal words of 32 CPUs, the highest first.
pub(super) fn cpu_mask(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for (word, base) in text.trim().rsplit(',').zip((0..).step_by(32)) {
        let bits = u32::from_str_radix(word, 16).ok()?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| base + bit));
    }
    Some(cpus)
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

    #[test]
    fn a_threads_run_delay_and_switches_are_found() {
        assert_eq!(run_delay("149793 3145484 2\n"), Some(Span::from_ns(3_145_484)));
        assert_eq!(run_delay("149793"), None);
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches(status), Some((12, 3)));
        assert_eq!(switches("Name:\tx\n"), None);
        assert_eq!((seccomp("Seccomp:\t2\nSeccomp_filters:\t1\n"), seccomp(status)), (Some(2), None));
    }

    #[test]
    fn steal_is_the_eighth_number_of_each_cpu() {
        let stat = "cpu  1276213 207008 366675 416914 31863 0 13425 853 0 0\n\
                    cpu0 666346 103532 149125 205590 25593 0 4666 411 0 0\n\
                    cpu1 609866 103475 217550 211323 6270 0 8758 442 0 0\nintr 5 0\ncpufreq 1\n";
        assert_eq!(steal(stat), Some((853, vec![(0, 411), (1, 442)])));
        assert_eq!(steal("cpu 1 2 3 4\n"), None, "a kernel that does not count it");
        assert_eq!(steal(""), None);
    }

    #[test]
    fn drops_and_squeezes_are_added_up_over_the_cpus() {
        let stat =
            "012da686 000000a2 00000001 00000000 00000000\n01b263e4 00000100 0000000a 00000000 00000000\n";
        assert_eq!(softnet(stat), Some((0xa2 + 0x100, 11)));
        assert_eq!(softnet(""), None);
        assert_eq!(softnet("x y z"), None);
    }

    #[test]
    fn a_process_may_have_any_name() {
        let stat = "71 (ng) inx (a) R 0 0 0 0 -1 4194560 87205 247775905 0 76534 25 17 1476296 356503 10 -10 3 0 25 52514816 4866 18446744073709551615 1 1 0 0 0 0 0 4096 1256 0 0 0 17 2 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let usage = usage(stat).unwrap();
        assert_eq!((usage.name.as_str(), usage.ticks, usage.threads, usage.cpu), ("ng) inx (a", 42, 3, 2));
        assert_eq!(super::usage("71 (x) R 1"), None);
    }

    #[test]
    fn the_longest_prefix_tells_the_interface() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                     eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
                     wlan0\t00000000\t010300C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n\
                     eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
                     eth2\t000200C0\t00000000\t0000\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n";
        let to = |address: &str| interface_v4(table, address.parse().unwrap());
        assert_eq!(to("192.0.2.9").as_deref(), Some("eth1"));
        assert_eq!(to("198.51.100.1").as_deref(), Some("eth0"), "the lower metric of two default routes");
        assert_eq!(interface_v4("Iface\n", "192.0.2.9".parse().unwrap()), None);
    }

    #[test]
    fn the_longest_prefix_tells_the_interface_of_ipv6_too() {
        let none = "00000000000000000000000000000000";
        let line = |to: &str, length: &str, metric: &str, flags: &str, name: &str| {
            format!("{to} {length} {none} 00 {none} {metric} 00000001 00000000 {flags} {name}\n")
        };
        let table = [
            line(none, "00", "00000400", "00000003", "eth0"),
            line("20010db8000000000000000000000000", "20", "00000100", "00000001", "eth1"),
            line(none, "00", "ffffffff", "00200200", "lo"),
        ]
        .concat();
        let to = |address: &str| interface_v6(&table, address.parse().unwrap());
        assert_eq!(to("2001:db8::7").as_deref(), Some("eth1"));
        assert_eq!(to("2001:dead::7").as_deref(), Some("eth0"));
    }

    #[test]
    fn lists_and_masks_of_cpus_are_read() {
        assert_eq!(cpu_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cpu_list("\n"), Some(vec![]));
        assert_eq!(cpu_list("x"), None);
        assert_eq!(cpu_mask("00000001,00000005\n"), Some(vec![0, 2, 32]));
        assert_eq!(cpu_mask("g"), None);
    }
}
