//! The thread that imagines other clients: it takes the shards' traffic, puts it in one order, and plays it to them.
//!
//! It may be late and it may lose traffic, and says how much; it never makes a shard wait.

use crate::record::{Imagined, Merge, Traffic};
use crate::schedule::Schedule;
use crate::shard::{TrafficSink, windows};
use crate::time::Instant;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often the thread looks: what gathers meanwhile is played in one go, with all it touches at hand. It sleeps by the clock,
/// so that a shard never pays for waking it.
const BEAT: Duration = Duration::from_millis(200);

/// Pieces of traffic a shard may have underway: a second of them, in which a thread that has a CPU comes to run.
const PIECES: usize = 100;

/// Less urgent than a shard that shares its CPU; but a tenth of a busy CPU is more than it needs, and it gets that.
const NICE: i32 = 10;

/// One shard's way to the thread and back.
struct Way {
    given: Sender<Traffic>,
    taken: Receiver<Traffic>,
    emptied: (Sender<Traffic>, Receiver<Traffic>),
}

/// The shards' ways to the thread, before it is there. What is given meanwhile waits.
pub struct Traffics {
    ways: Vec<Way>,
    lost: Arc<AtomicU64>,
}

impl Traffics {
    /// For so many shards.
    pub fn new(shards: usize) -> Self {
        let way = |_| {
            let (given, taken) = bounded(PIECES);
            Way { given, taken, emptied: bounded(PIECES) }
        };
        Self { ways: (0..shards).map(way).collect(), lost: Arc::default() }
    }

    /// A shard's end.
    pub fn sink(&self, shard: u16) -> TrafficSink {
        let way = &self.ways[usize::from(shard)];
        let (given, emptied, lost) = (way.given.clone(), way.emptied.1.clone(), self.lost.clone());
        Box::new(move |traffic| match given.try_send(traffic) {
            Ok(()) => emptied.try_recv().unwrap_or_default(),
            Err(full) => {
                let mut traffic = full.into_inner();
                lost.fetch_add(traffic.sightings().len() as u64, Relaxed);
                traffic.clear();
                traffic
            }
        })
    }

    /// Starts the thread, for a run of `schedule` from `start`.
    ///
    /// # Errors
    /// No thread can be had.
    pub fn imagine(self, schedule: &Schedule, start: Instant) -> io::Result<Imagination> {
        let Self { ways, lost } = self;
        let imagined = Imagined::new(&windows(&schedule.starting_at(start)), ways.len());
        let (running, end) = bounded(0);
        let thread = Builder::new().name("lowrho-imagined".into()).spawn(move || {
            // Where it is refused the thread is as urgent as others, and the scheduler shares.
            let _ = rustix::process::setpriority_process(None, NICE);
            play(imagined, &ways, &end)
        })?;
        Ok(Imagination { running, thread, lost })
    }
}

/// The thread at work.
pub struct Imagination {
    running: Sender<()>,
    thread: JoinHandle<(Imagined, u64)>,
    lost: Arc<AtomicU64>,
}

/// What it leaves.
pub struct Told {
    /// The clients.
    pub imagined: Imagined,
    /// Sightings that did not reach it: then the clients have not had the user's traffic.
    pub lost: u64,
    /// Those that reached it when later ones had been played: then they have not had it in its order.
    pub late: u64,
}

impl Imagination {
    /// Plays what is left, when every shard is over.
    pub fn finish(self) -> Told {
        let Self { running, thread, lost } = self;
        drop(running);
        let (imagined, late) = thread.join().expect("the imagining thread does not panic");
        Told { imagined, lost: lost.load(Relaxed), late }
    }
}

fn play(mut imagined: Imagined, ways: &[Way], end: &Receiver<()>) -> (Imagined, u64) {
    let mut merge = Merge::new(ways.len());
    while end.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
        collect(ways, &mut merge);
        merge.take(|shard, sighting| imagined.see(shard, sighting));
    }
    collect(ways, &mut merge);
    merge.finish(|shard, sighting| imagined.see(shard, sighting));
    (imagined, merge.late())
}

fn collect(ways: &[Way], merge: &mut Merge) {
    for (shard, way) in ways.iter().enumerate() {
        // No more than are underway now: a busy shard must not keep the thread from the others.
        for mut traffic in way.taken.try_iter().take(PIECES) {
            merge.give(shard, &traffic);
            traffic.clear();
            // One that finds no room is dropped, and the shard makes another.
            let _ = way.emptied.0.try_send(traffic);
        }
    }
}
