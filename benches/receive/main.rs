//! What receiving costs: CPU of the reading thread, kernel included, per event; each reader against the bare one.
//!
//! A source on one core writes 250-byte events over many connections at a set rate; a reader on another core reads
//! them. Readers take turns, so that whatever else the host does meets all alike; ratios are of neighbours in time.
//!
//! It fails when a reader allocates once it has got going.
//!
//! Usage: cargo bench --bench receive -- [--rate 50000] [--connections 100] [--seconds 2] [--pairs 9]
//!        [--reader-cpu 0] [--source-cpu 1]

mod bare;
mod counting;
mod pumped;
mod source;
mod whole;

use lowrho::clock;
use lowrho::ring::Engine;
use lowrho::time::Span;
use std::io::Write;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// What the source sends.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Load {
    pub(crate) rate_per_s: u64,
    pub(crate) connections: usize,
    pub(crate) events: u64,
    pub(crate) source_cpu: usize,
}

/// The usual event of a chat completion with one token.
pub(crate) const EVENT_BYTES: usize = 250;

/// How long all readers let arrivals gather: the same, or the ratio would tell of the window.
pub(crate) const WINDOW: Span = Span::from_us(250);

impl Load {
    pub(crate) fn bytes(&self) -> u64 {
        self.events * u64::try_from(EVENT_BYTES).expect("small")
    }
}

/// What one run of a reader used.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Used {
    pub(crate) cpu: Span,
    pub(crate) wall: Span,
    pub(crate) reads: u64,
}

/// A way to read all that a source sends.
struct Reader {
    name: &'static str,
    read: fn(&Load) -> Used,
}

/// The readers; the first is the one that the others are held against, and one on epoll follows the same on io_uring.
const READERS: [Reader; 5] = [
    Reader { name: "bare ring reader", read: bare::read },
    Reader { name: "pump", read: |load| pumped::read(load, Engine::Uring) },
    Reader { name: "pump, epoll", read: |load| pumped::read(load, Engine::Epoll) },
    Reader { name: "whole client", read: |load| whole::read(load, Engine::Uring) },
    Reader { name: "whole client, epoll", read: |load| whole::read(load, Engine::Epoll) },
];

fn main() {
    let asked: Vec<String> = std::env::args().collect();
    let option = |name: &str, usual: u64| {
        let at = asked.iter().position(|arg| arg == name);
        at.map_or(usual, |at| asked[at + 1].parse().expect("a number follows its name"))
    };
    let (rate_per_s, seconds) = (option("--rate", 50_000), option("--seconds", 2));
    let load = Load {
        rate_per_s,
        connections: usize::try_from(option("--connections", 100)).expect("a count"),
        events: rate_per_s * seconds,
        source_cpu: usize::try_from(option("--source-cpu", 1)).expect("a CPU"),
    };
    let reader_cpu = usize::try_from(option("--reader-cpu", 0)).expect("a CPU");
    assert!(core_affinity::set_for_current(core_affinity::CoreId { id: reader_cpu }), "cpu {reader_cpu}");

    let mut out = std::io::stdout().lock();
    let mut say = |line: String| writeln!(out, "{line}").expect("stdout is open");
    say(format!(
        "{rate_per_s} events/s of {EVENT_BYTES} bytes over {} connections, {seconds} s a run; reader on cpu {reader_cpu}, source on cpu {}",
        load.connections, load.source_cpu
    ));
    say(format!(
        "a reading of the clock costs {:.0} ns, of the thread's CPU clock {:.0} ns",
        ns_per_call(clock::now),
        ns_per_call(clock::thread_cpu)
    ));
    let mut ns_per_event = vec![Vec::new(); READERS.len()];
    for pair in 0..=option("--pairs", 9) {
        for (index, Reader { name, read }) in READERS.iter().enumerate() {
            let used = read(&load);
            let ns = ratio(used.cpu.as_ns(), i64::try_from(load.events).expect("a count"));
            if pair == 0 {
                continue; // Warms the caches, the allocator and the route.
            }
            ns_per_event[index].push(ns);
            let busy = 100.0 * ratio(used.cpu.as_ns(), used.wall.as_ns());
            let share = ratio(
                i64::try_from(load.events).expect("a count"),
                i64::try_from(used.reads).expect("a count"),
            );
            say(format!(
                "{pair:>3}  {name:<20} {ns:>7.0} ns/event  {busy:>4.0} % busy  {share:.3} events/read"
            ));
        }
    }
    let bare = ns_per_event[0].clone();
    for uring in [1, 3] {
        let pairs = ns_per_event[uring].iter().zip(&ns_per_event[uring + 1]);
        let mut ratios: Vec<f64> = pairs.map(|(uring, epoll)| epoll / uring).collect();
        let middle = median(&mut ratios);
        say(format!(
            "{:<20} of the same on io_uring {middle:.3} (pairs from {:.3} to {:.3})",
            READERS[uring + 1].name,
            ratios[0],
            ratios[ratios.len() - 1]
        ));
    }
    for (Reader { name, .. }, of_reader) in READERS.iter().zip(&mut ns_per_event) {
        let mut ratios: Vec<f64> = of_reader.iter().zip(&bare).map(|(ns, bare)| ns / bare).collect();
        let (ns, of_bare) = (median(of_reader), median(&mut ratios));
        let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
        say(format!(
            "{name:<20} median {ns:>7.0} ns/event; of the bare reader's {of_bare:.3} (pairs from {least:.3} to {most:.3})"
        ));
    }
}

fn ns_per_call<T>(call: fn() -> T) -> f64 {
    const CALLS: i64 = 100_000;
    let begun = clock::now();
    for _ in 0..CALLS {
        std::hint::black_box(call());
    }
    ratio((clock::now() - begun).as_ns(), CALLS)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn ratio(part: i64, whole: i64) -> f64 {
    Span::from_ns(part).as_s_f64() / Span::from_ns(whole).as_s_f64()
}
