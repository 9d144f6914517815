//! The way to the target: which interface, and which CPUs stamp what arrives there.
//!
//! It must not send a packet: a UDP socket that is connected tells the way without one.

use super::text;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

/// The way to a target.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Route {
    /// The interface; `None` = it cannot be told.
    pub interface: Option<String>,
    /// CPUs that take its interrupts or its steered packets, ascending. `None` = it cannot be told, or there are no
    /// interrupts: over loopback the sender's own CPU stamps.
    pub stamping_cpus: Option<Vec<usize>>,
}

/// The interface that stays inside the host.
const LOOPBACK: &str = "lo";

impl Route {
    /// The way to `target`.
    #[must_use]
    pub fn to(target: SocketAddr) -> Self {
        let interface = interface_to(target);
        let stamping_cpus = interface.as_deref().filter(|name| *name != LOOPBACK).and_then(stamping_cpus);
        Self { interface, stamping_cpus }
    }

    /// Whether it never leaves this host.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.interface.as_deref() == Some(LOOPBACK)
    }
}

fn interface_to(target: SocketAddr) -> Option<String> {
    let from: SocketAddr = match target {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(from).ok()?;
    socket.connect(target).ok()?;
    // An address of our own is reached from itself, over loopback, whatever interface has it.
    if socket.local_addr().ok()?.ip() == target.ip() || target.ip().is_loopback() {
        return Some(LOOPBACK.into());
    }
    match target.ip() {
        IpAddr::V4(to) => text::interface_v4(&fs::read_to_string("/proc/net/route").ok()?, to),
        IpAddr::V6(to) => text::interface_v6(&fs::read_to_string("/proc/net/ipv6_route").ok()?, to),
    }
}

fn stamping_cpus(interface: &str) -> Option<Vec<usize>> {
    let device = PathBuf::from(format!("/sys/class/net/{interface}"));
    // A virtio card is a device below the PCI function that has the interrupts.
    let interrupts = [device.join("device/msi_irqs"), device.join("device/../msi_irqs")];
    let numbers = interrupts.iter().find_map(|folder| names(folder))?;
    let mut cpus: Vec<usize> =
        numbers.iter().filter_map(|number| cpus_of_interrupt(number)).flatten().collect();
    for queue in names(&device.join("queues")).unwrap_or_default() {
        let mask = fs::read_to_string(device.join("queues").join(queue).join("rps_cpus"));
        cpus.extend(mask.ok().and_then(|mask| text::cpu_mask(&mask)).unwrap_or_default());
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus).filter(|cpus| !cpus.is_empty())
}

fn cpus_of_interrupt(number: &str) -> Option<Vec<usize>> {
    let read = |name: &str| fs::read_to_string(format!("/proc/irq/{number}/{name}")).ok();
    let list = read("effective_affinity_list").filter(|list| !list.trim().is_empty());
    text::cpu_list(&list.or_else(|| read("smp_affinity_list"))?)
}

fn names(folder: &Path) -> Option<Vec<String>> {
    let entries = fs::read_dir(folder).ok()?;
    let names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    Some(names).filter(|names| !names.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_ourselves_stays_inside() {
        for target in ["127.0.0.1:80", "127.8.9.1:80"] {
            let route = Route::to(target.parse().unwrap());
            assert!(route.is_loopback() && route.stamping_cpus.is_none(), "{target}: {route:?}");
        }
    }
}
