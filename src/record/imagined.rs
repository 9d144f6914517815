//! Clients that are not there, on the traffic that is: what each would have reported of the same requests.
//!
//! It must not reach back to the run: a client that is late sends late, and a server so relieved would answer sooner; no
//! such echo is imagined. A request's answer comes as long after its send as ours did.
//!
//! An imagined client takes a fixed time for each send and for each token-bearing event, in the order in which they come,
//! in one process or in several with a queue for each (rho_k = lambda / (k mu)). Its stamp of an event is the end of that
//! event's service: Lindley's recursion, start = max(arrival, previous end), beside the real one.

use super::histogram::Histogram;
use super::metric::per_token;
use super::traffic::{Seen, Sighting};
use super::window::Window;
use crate::time::{Instant, Span};

/// What an event costs them: from a tight loop of a compiled language to an interpreter that parses JSON into objects.
pub const SERVICES: [Span; 4] = [Span::from_us(20), Span::from_us(100), Span::from_us(300), Span::from_ms(1)];

/// Processes of those that have several; a request stays with process `index % PROCESSES`.
pub const PROCESSES: u16 = 8;

/// Ourselves first, had we stamped events when we processed them; then each service on one process; then each on several.
const LANES: usize = 1 + 2 * SERVICES.len();

/// How much later than its arrival each client stamps an event.
type Delays = [Span; LANES];

/// What one client would have reported, over the measured successes (its gaps: over all measured requests), in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "docs/METHOD.md defines each metric under the same name")]
pub struct Reported {
    pub ttft: Histogram,
    pub itl: Histogram,
    pub tpot: Histogram,
    pub e2e: Histogram,
    /// How long measured sends waited for their process, beside our own lateness.
    pub send_wait: Histogram,
}

impl Default for Reported {
    fn default() -> Self {
        let empty = Histogram::published;
        Self { ttft: empty(), itl: empty(), tpot: empty(), e2e: empty(), send_wait: empty() }
    }
}

/// An event's arrival and its stamps.
#[derive(Copy, Clone, Debug)]
struct Stamped {
    at: Instant,
    delays: Delays,
}

/// What is remembered of a request while it lasts.
#[derive(Copy, Clone, Debug)]
struct Request {
    sent: Instant,
    process: usize,
    measured: bool,
    /// Whether gaps between its events are ITL.
    single: bool,
    /// The first event and the latest.
    events: Option<(Stamped, Stamped)>,
}

/// The imagined clients of one run.
#[derive(Clone, Debug)]
pub struct Imagined {
    windows: Vec<Window>,
    /// When each of the processes is free, by service; the lone ones first.
    free_at: [[Instant; SERVICES.len()]; 1 + PROCESSES as usize],
    /// By shard and slot.
    requests: Vec<Vec<Option<Request>>>,
    reported: [Reported; LANES],
    jobs: u64,
}

impl Imagined {
    /// Clients for the traffic of so many shards, whose measured windows are these.
    #[must_use]
    pub fn new(windows: &[Window], shards: usize) -> Self {
        Self {
            windows: windows.to_vec(),
            free_at: [[Instant::ZERO; SERVICES.len()]; 1 + PROCESSES as usize],
            requests: vec![Vec::new(); shards],
            reported: std::array::from_fn(|_| Reported::default()),
            jobs: 0,
        }
    }

    /// Something was seen on `shard`. Sightings come in order of time; one that comes late is served after those before it.
    pub fn see(&mut self, shard: usize, sighting: &Sighting) {
        let Sighting { at, slot, seen } = *sighting;
        let slot = usize::try_from(slot).expect("a 64-bit host");
        match seen {
            Seen::Sent { index, since, measured, single } => {
                let process = usize::try_from(index % u64::from(PROCESSES)).expect("small");
                let request = Request { sent: since, process, measured, single, events: None };
                self.sent(shard, slot, at, request);
            }
            Seen::Events { count, wait } => {
                self.event(shard, slot, at, wait);
                self.more_events(shard, slot, at, count.saturating_sub(1));
            }
            Seen::Over { success, after_first } => self.over(shard, slot, success, after_first),
        }
    }

    fn sent(&mut self, shard: usize, slot: usize, at: Instant, request: Request) {
        let delays = self.serve(request.process, at);
        if request.measured {
            for (lane, delay) in delays.into_iter().enumerate().skip(1) {
                record(&mut self.reported[lane].send_wait, delay - SERVICES[(lane - 1) % SERVICES.len()]);
            }
        }
        let requests = &mut self.requests[shard];
        if requests.len() <= slot {
            requests.resize(slot + 1, None);
        }
        requests[slot] = Some(request);
    }

    fn event(&mut self, shard: usize, slot: usize, at: Instant, wait: Span) {
        let Some(Some(request)) = self.requests[shard].get(slot) else { return };
        let (process, has_gaps) = (request.process, request.measured && request.single);
        let mut delays = self.serve(process, at);
        delays[0] = wait;
        let now = Stamped { at, delays };
        let Some(Some(request)) = self.requests[shard].get_mut(slot) else { return };
        let Some((_, latest)) = &mut request.events else {
            request.events = Some((now, now));
            return;
        };
        if has_gaps {
            for (lane, reported) in self.reported.iter_mut().enumerate() {
                record(&mut reported.itl, (at - latest.at) + (delays[lane] - latest.delays[lane]));
            }
        }
        *latest = now;
    }

    /// Events that came together with the latest: nobody is idle between two of them, so that each is a service later than the one
    /// before it, and we ourselves are done with all at once.
    fn more_events(&mut self, shard: usize, slot: usize, at: Instant, count: u16) {
        let Some(Some(request)) = self.requests[shard].get_mut(slot).filter(|_| count > 0) else { return };
        let Some((_, latest)) = &mut request.events else { return };
        for (lane, (reported, delay)) in self.reported.iter_mut().zip(&mut latest.delays).enumerate() {
            let service = lane.checked_sub(1).map_or(Span::ZERO, |lane| SERVICES[lane % SERVICES.len()]);
            *delay += service * i64::from(count);
            if request.measured && request.single {
                reported.itl.record_n(service.as_ns().unsigned_abs(), u64::from(count));
            }
        }
        for process in [0, 1 + request.process] {
            for (free_at, service) in self.free_at[process].iter_mut().zip(SERVICES) {
                *free_at += service * i64::from(count);
            }
        }
        self.jobs += u64::from(self.windows.iter().any(|window| window.contains(at))) * u64::from(count);
    }

    fn over(&mut self, shard: usize, slot: usize, success: bool, after_first: u64) {
        let request = self.requests[shard].get_mut(slot).and_then(Option::take);
        let Some(Request { sent, measured: true, events: Some((first, last)), .. }) = request else { return };
        if !success {
            return;
        }
        for (lane, reported) in self.reported.iter_mut().enumerate() {
            let (first_delay, last_delay) = (first.delays[lane], last.delays[lane]);
            record(&mut reported.ttft, (first.at - sent) + first_delay);
            record(&mut reported.e2e, (last.at - sent) + last_delay);
            if let Some(tpot) = per_token((last.at - first.at) + (last_delay - first_delay), after_first) {
                record(&mut reported.tpot, tpot);
            }
        }
    }

    /// One more job for every client; gives how much later than `at` each is done with it.
    fn serve(&mut self, process: usize, at: Instant) -> Delays {
        self.jobs += u64::from(self.windows.iter().any(|window| window.contains(at)));
        let mut delays = [Span::ZERO; LANES];
        let (alone, several) = delays[1..].split_at_mut(SERVICES.len());
        for (free_at, delays) in [(0, alone), (1 + process, several)] {
            let free_at = &mut self.free_at[free_at];
            for ((free_at, service), delay) in free_at.iter_mut().zip(SERVICES).zip(delays) {
                *free_at = at.max(*free_at) + service;
                *delay = *free_at - at;
            }
        }
        delays
    }

    /// Sends and token-bearing events in the measured windows.
    #[must_use]
    pub const fn jobs(&self) -> u64 {
        self.jobs
    }

    /// What we would have reported had we stamped events when we processed them. (It has no send waits.)
    #[must_use]
    pub const fn as_processed(&self) -> &Reported {
        &self.reported[0]
    }

    /// What a client of `SERVICES[service]` an event would have reported, on one process.
    #[must_use]
    pub const fn on_one(&self, service: usize) -> &Reported {
        &self.reported[1 + service]
    }

    /// The same on [`PROCESSES`].
    #[must_use]
    pub const fn on_several(&self, service: usize) -> &Reported {
        &self.reported[1 + SERVICES.len() + service]
    }
}

/// A span that runs backwards is told by the audit, and is no value.
fn record(histogram: &mut Histogram, span: Span) {
    if let Ok(ns) = u64::try_from(span.as_ns()) {
        histogram.record(ns);
    }
}
