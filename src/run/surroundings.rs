//! The thread that watches the host beside the run, off the shards' cores: steal, neighbours, packets dropped.
//!
//! It must not judge what it sees, and what cannot be read stays unread.

use crate::analysis::{HostFacts, Neighbour, Stolen};
use crate::clock;
use crate::host::{Neighbours, Route, Softnet, Spent, Steal};
use crate::record::Window;
use crate::ring::Card;
use crate::time::{Instant, Span};
use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use std::collections::BTreeMap;
use std::io;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often steal is read: so finely are stolen stretches told apart. 20 us each time on a small host.
const BEAT: Span = Span::from_ms(100);

/// How often every process is looked at; less often where that takes long.
const LOOK: Span = Span::from_s(5);

/// Looking at all processes may take this share of the time at most.
const LOOKING_SHARE: i64 = 50;

/// How many neighbours of a shard are told.
const TOLD: usize = 10;

/// What was seen beside the run.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Seen {
    /// The host as a whole.
    pub host: HostFacts,
    /// Stolen stretches of each stage.
    pub stolen: Vec<Option<Stolen>>,
    /// Of each shard: what was stolen from its CPU, and who else used it.
    pub shards: Vec<(Option<Span>, Vec<Neighbour>)>,
}

/// The thread that watches.
pub struct Surroundings {
    stop: Sender<()>,
    thread: JoinHandle<Seen>,
}

impl Surroundings {
    /// Starts watching for a run whose shards are on `cpus`, whose target is reached by `route` and whose stages have these
    /// windows.
    ///
    /// # Errors
    /// No thread can be had.
    pub fn watch(cpus: Vec<usize>, route: Route, windows: Vec<Window>) -> io::Result<Self> {
        let moderation = moderation(&route);
        // Over loopback no stamp is stolen, and what was stolen in all is known at the end.
        let beat = if route.is_loopback() { LOOK } else { BEAT };
        let beat = Duration::from_nanos(beat.as_ns().unsigned_abs());
        let (stop, stopped) = bounded(1);
        let thread = Builder::new().name("lowrho-host".into()).spawn(move || {
            let mut account = Account::new(cpus, route, windows);
            let mut neighbours = Neighbours::default();
            let softnet = Softnet::read();
            account.spent(&neighbours.look());
            let mut next_look = clock::now() + LOOK;
            loop {
                account.steal(clock::now(), Steal::read());
                let over = stopped.recv_timeout(beat) != Err(RecvTimeoutError::Timeout);
                let begun = clock::now();
                if over || begun >= next_look {
                    account.spent(&neighbours.look());
                    next_look = begun + LOOK.max((clock::now() - begun) * LOOKING_SHARE);
                }
                if over {
                    account.steal(clock::now(), Steal::read());
                    let mut seen = account.conclude(softnet, Softnet::read());
                    seen.host.moderation = moderation;
                    return seen;
                }
            }
        })?;
        Ok(Self { stop, thread })
    }

    /// Stops watching, and tells.
    ///
    /// # Panics
    /// When the thread has: it reads texts and adds numbers.
    pub fn end(self) -> Seen {
        drop(self.stop);
        self.thread.join().expect("watching the host does not panic")
    }
}

/// How long the card holds packets back, where it says so.
fn moderation(route: &Route) -> Option<Span> {
    Card::of(route.interface.as_deref()?).ok()?.moderation().ok()
}

/// Sums over what was read.
struct Account {
    cpus: Vec<usize>,
    route: Route,
    windows: Vec<Window>,
    /// When it was looked at first.
    since: Option<Instant>,
    until: Option<Instant>,
    first: Option<Steal>,
    last: Option<(Instant, Steal)>,
    /// Of each window: how long it was watched, in how much of it a CPU that stamps was stolen, and the most at once.
    stretches: Vec<(Span, Span, Span)>,
    spent: BTreeMap<(usize, u32, String), u64>,
}

impl Account {
    fn new(cpus: Vec<usize>, route: Route, windows: Vec<Window>) -> Self {
        let stretches = windows.iter().map(|_| (Span::ZERO, Span::ZERO, Span::ZERO)).collect();
        Self {
            cpus,
            route,
            windows,
            since: None,
            until: None,
            first: None,
            last: None,
            stretches,
            spent: BTreeMap::new(),
        }
    }

    /// Steal as it was at `at`.
    fn steal(&mut self, at: Instant, read: Option<Steal>) {
        self.since.get_or_insert(at);
        self.until = Some(at);
        let Some(now) = read else { return };
        if let Some((since, before)) = &self.last
            && let Some(place) = self.windows.iter().position(|window| window.contains(at))
        {
            let most = self.most_stolen_from_stamps(before, &now);
            let (watched, stolen, longest) = &mut self.stretches[place];
            *watched += at - *since;
            if most > Span::ZERO {
                *stolen += at - *since;
                *longest = (*longest).max(most);
            }
        }
        self.first.get_or_insert_with(|| now.clone());
        self.last = Some((at, now));
    }

    /// The most that was stolen from any CPU that stamps; over loopback the sender's own stamps, and what is stolen from it
    /// delays the server, not the stamp.
    fn most_stolen_from_stamps(&self, before: &Steal, now: &Steal) -> Span {
        if self.route.is_loopback() {
            return Span::ZERO;
        }
        let stamps = |cpu: usize| self.route.stamping_cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu));
        let risen = now.by_cpu.iter().filter(|(cpu, _)| stamps(*cpu));
        risen.filter_map(|(cpu, now)| Some(*now - before.of_cpu(*cpu)?)).max().unwrap_or(Span::ZERO)
    }

    /// Time that was used on the shards' CPUs by others than the shards.
    fn spent(&mut self, spent: &[Spent]) {
        let own = std::process::id();
        for Spent { cpu, pid, name, ticks } in spent {
            if self.cpus.contains(cpu) && !(*pid == own && name.starts_with("shard-")) {
                *self.spent.entry((*cpu, *pid, name.clone())).or_default() += ticks;
            }
        }
    }

    fn conclude(self, softnet_before: Option<Softnet>, softnet: Option<Softnet>) -> Seen {
        let risen = |of: &dyn Fn(&Steal) -> Option<Span>| {
            let (_, last) = self.last.as_ref()?;
            Some(of(last)? - of(self.first.as_ref()?)?)
        };
        let softnet = softnet_before.zip(softnet);
        let count =
            |of: fn(&Softnet) -> u64| softnet.map(|(before, now)| of(&now).saturating_sub(of(&before)));
        let stamping = self.route.stamping_cpus.as_deref();
        Seen {
            host: HostFacts {
                interface: self.route.interface.clone(),
                stamping_cpus: self.route.stamping_cpus.clone(),
                moderation: None,
                steal: risen(&|steal| Some(steal.total)),
                stamping_steal: stamping
                    .and_then(|cpus| cpus.iter().map(|cpu| risen(&|steal| steal.of_cpu(*cpu))).sum()),
                softnet_dropped: count(|softnet| softnet.dropped),
                softnet_squeezed: count(|softnet| softnet.squeezed),
            },
            stolen: self
                .stretches
                .iter()
                .map(|(watched, stolen, longest)| {
                    let share = stolen.as_s_f64() / watched.as_s_f64();
                    (*stolen > Span::ZERO).then_some(Stolen { share, longest: *longest })
                })
                .collect(),
            shards: self
                .cpus
                .iter()
                .map(|cpu| (risen(&|steal| steal.of_cpu(*cpu)), self.neighbours_on(*cpu)))
                .collect(),
        }
    }

    fn neighbours_on(&self, cpu: usize) -> Vec<Neighbour> {
        let tick =
            1_000_000_000 / i64::try_from(rustix::param::clock_ticks_per_second()).expect("some hundred");
        let mut on_cpu: Vec<_> = self.spent.iter().filter(|((seen_on, ..), _)| *seen_on == cpu).collect();
        on_cpu.sort_by_key(|(_, ticks)| std::cmp::Reverse(**ticks));
        let told = on_cpu.into_iter().take(TOLD).map(|((_, pid, name), ticks)| Neighbour {
            name: name.clone(),
            pid: *pid,
            watched: self.since.zip(self.until).map_or(Span::ZERO, |(since, until)| until - since),
            used: Span::from_ns(i64::try_from(*ticks).unwrap_or(i64::MAX).saturating_mul(tick)),
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    fn steal(ms: [i64; 3]) -> Option<Steal> {
        let by_cpu: Vec<(usize, Span)> = (0..).zip(ms.map(Span::from_ms)).collect();
        Some(Steal { total: by_cpu.iter().map(|(_, span)| *span).sum(), by_cpu })
    }

    fn account(interface: &str, stamping: Option<Vec<usize>>) -> Account {
        let route = Route { interface: Some(interface.into()), stamping_cpus: stamping };
        let window = |from, until| Window::of_time(at_ms(from), at_ms(until));
        Account::new(vec![2], route, vec![window(1_000, 2_000), window(2_500, 3_000)])
    }

    fn play(mut account: Account) -> Seen {
        for (ms, stolen) in [
            (900, [0, 0, 0]),
            (1_100, [0, 0, 10]),
            (1_200, [0, 30, 20]),
            (1_300, [0, 40, 20]),
            (1_900, [0, 40, 20]),
            (2_200, [90, 90, 90]),
            (2_600, [90, 90, 90]),
        ] {
            account.steal(at_ms(ms), steal(stolen));
        }
        account.conclude(None, None)
    }

    #[test]
    fn stretches_in_which_a_cpu_that_stamps_was_stolen_are_told_by_window() {
        let seen = play(account("eth0", Some(vec![1])));
        // Of the 1.0 s from 900 to 1900 ms, 100 ms with 30 ms stolen and 100 ms with 10 ms.
        assert_eq!(seen.stolen, [Some(Stolen { share: 0.2, longest: Span::from_ms(30) }), None]);
        assert_eq!(seen.host.stamping_steal, Some(Span::from_ms(90)));
        assert_eq!(seen.host.steal, Some(Span::from_ms(270)));
        assert_eq!(seen.shards[0].0, Some(Span::from_ms(90)));
    }

    #[test]
    fn where_nobody_knows_who_stamps_any_cpu_may() {
        let seen = play(account("eth0", None));
        assert_eq!(seen.stolen[0].map(|stolen| stolen.longest), Some(Span::from_ms(30)));
        assert!(seen.stolen[0].is_some_and(|stolen| stolen.share > 0.35), "the first stretch too: {seen:?}");
        assert_eq!(seen.host.stamping_steal, None);
    }

    #[test]
    fn over_loopback_the_senders_own_cpu_stamps_and_steal_makes_no_stamp_late() {
        assert_eq!(play(account("lo", None)).stolen, [None, None]);
    }

    #[test]
    fn what_was_never_read_is_not_zero() {
        let mut account = account("eth0", Some(vec![1]));
        account.steal(at_ms(1_100), None);
        let seen = account.conclude(None, Some(Softnet { dropped: 3, squeezed: 0 }));
        assert_eq!((seen.host.steal, seen.host.stamping_steal, seen.shards[0].0), (None, None, None));
        assert_eq!((seen.host.softnet_dropped, seen.host.softnet_squeezed), (None, None));
    }

    #[test]
    fn others_on_a_shards_cpu_are_told_by_name_most_first_and_the_shards_are_not() {
        let spent = |cpu, pid, name: &str, ticks| Spent { cpu, pid, name: name.into(), ticks };
        let own = std::process::id();
        let mut account = account("lo", None);
        account.spent(&[
            spent(2, 71, "nginx", 3),
            spent(1, 72, "elsewhere", 50),
            spent(2, own, "shard-0", 90),
        ]);
        // Watched from before the window to the end of the drain: what was used is of all that time.
        account.steal(at_ms(900), None);
        account.spent(&[spent(2, 71, "nginx", 4), spent(2, own, "lowrho-rows", 20)]);
        account.steal(at_ms(5_900), None);
        let (_, neighbours) = &account.conclude(None, None).shards[0];
        let told: Vec<(&str, i64)> =
            neighbours.iter().map(|n| (n.name.as_str(), n.used.as_ns() / 1_000_000)).collect();
        assert!(neighbours.iter().all(|n| n.watched == Span::from_s(5)), "{neighbours:?}");
        let tick_ms = 1_000 / i64::try_from(rustix::param::clock_ticks_per_second()).unwrap();
        assert_eq!(told, [("lowrho-rows", 20 * tick_ms), ("nginx", 7 * tick_ms)]);
    }

    #[test]
    fn a_host_is_watched_until_the_end() {
        let surroundings = Surroundings::watch(vec![0], Route::default(), Vec::new()).unwrap();
        let seen = surroundings.end();
        assert_eq!(seen.shards.len(), 1);
        assert!(seen.host.steal.is_some(), "Linux counts it");
    }
}
