//! Starting and stopping a simulator: a thread per CPU, all on the same addresses.
//!
//! It must not outlive its handle: dropping it stops the shards.

use super::config::{SimConfig, SimError};
use super::host::Host;
use super::ledger::{Ledger, Scribe};
use super::report::{ShardReport, SimReport};
use crate::clock;
use crate::ring::{Address, Coalesce, Core, PortUse, PumpConfig, RingConfig};
use crate::script::{Meter, Script, Seat, Server};
use crate::time::Span;
use crate::tls::ServerSide;
use crossbeam_channel::{Sender, bounded};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

/// How long a shard sleeps at most: so soon does it see that it is to stop.
const LONGEST_SLEEP: Span = Span::from_ms(50);

/// The embedded server.
#[derive(Debug)]
pub struct Sim;

/// A running simulator; dropping it stops it.
pub struct SimHandle {
    addresses: Vec<Address>,
    meters: Arc<[Meter]>,
    stop: Arc<AtomicBool>,
    shards: Vec<JoinHandle<ShardReport>>,
    scribe: Option<Scribe>,
}

impl Sim {
    /// Starts all shards; when this returns, connections are accepted.
    ///
    /// # Errors
    /// A setting that cannot be, a log that cannot be written, a core or an address that cannot be had.
    pub fn start(config: &SimConfig) -> Result<SimHandle, SimError> {
        config.check()?;
        let (scribe, ledger) = match &config.log {
            Some(path) => Scribe::start(path).map(|(scribe, ledger)| (Some(scribe), Some(ledger)))?,
            None => (None, None),
        };
        let count = config.shards();
        let mut handle = SimHandle {
            addresses: config.addresses.clone(),
            meters: (0..count).map(|_| Meter::default()).collect(),
            stop: Arc::new(AtomicBool::new(false)),
            shards: Vec::with_capacity(count),
            scribe,
        };
        let unix_at_zero_ns = clock::unix_ns() - clock::now().as_ns();
        for shard in 0..count {
            let (told, listening) = bounded(1);
            let seat = Shard {
                script: config.script.clone(),
                secure: config.secure.clone(),
                seat: Seat {
                    shard,
                    shards: count,
                    meters: Arc::clone(&handle.meters),
                    unix_at_zero_ns,
                    marking: ledger.is_some(),
                },
                cpu: config.cpus.get(shard).copied(),
                // The first has found the ports for all.
                addresses: handle.addresses.clone(),
                port: if count == 1 { PortUse::Own } else { PortUse::Shared },
                ring: config.ring(),
                ledger: ledger.clone(),
                stop: Arc::clone(&handle.stop),
            };
            let thread = std::thread::Builder::new()
                .name(format!("sim-{shard}"))
                .spawn(move || seat.serve(&told))
                .map_err(|error| SimError::Thread(error.to_string()))?;
            match listening.recv() {
                Ok(Ok(addresses)) => handle.addresses = addresses,
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(SimError::Thread("it ended before it listened".into())),
            }
            handle.shards.push(thread);
        }
        Ok(handle)
    }
}

impl SimHandle {
    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The first internet address that it listens on.
    ///
    /// # Panics
    /// When it listens on Unix sockets alone.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.addresses.iter().find_map(Address::tcp).expect("it listens on the internet too")
    }

    /// Tells the shards to stop; they do within 50 ms, whatever is under way.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Stops the shards, and gives their account.
    ///
    /// # Panics
    /// With the words of a shard that panicked.
    #[must_use]
    pub fn join(mut self) -> SimReport {
        self.stop();
        let shards = std::mem::take(&mut self.shards).into_iter().map(|shard| match shard.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        let shards = shards.collect();
        // Every shard has dropped its end of the queue: the writer comes to its end.
        SimReport::new(shards, self.scribe.take().map(Scribe::join))
    }
}

impl Drop for SimHandle {
    fn drop(&mut self) {
        self.stop();
        for shard in self.shards.drain(..) {
            // A panic was printed by its thread; here nobody is left to hear of it.
            let _ = shard.join();
        }
    }
}

/// What a shard's thread is given.
struct Shard {
    script: Script,
    secure: Option<ServerSide>,
    seat: Seat,
    cpu: Option<usize>,
    addresses: Vec<Address>,
    port: PortUse,
    ring: RingConfig,
    ledger: Option<Ledger>,
    stop: Arc<AtomicBool>,
}

impl Shard {
    fn serve(self, told: &Sender<Result<Vec<Address>, SimError>>) -> ShardReport {
        let meters = Arc::clone(&self.seat.meters);
        let shard = self.seat.shard;
        let mut host = Host::new(Server::new(self.script, self.seat), self.secure, self.ledger);
        let pump = PumpConfig {
            // A server answers at once: gathering would make it late.
            coalesce: Coalesce::Never,
            busy_poll: false,
            longest_sleep: LONGEST_SLEEP,
            cpu_clock: true,
            card: None,
        };
        let begun = Core::new(self.cpu, &self.ring, pump).map_err(SimError::Core).and_then(|mut core| {
            let ring = core.pump().ring_mut();
            let listen = |address: &Address| ring.listen(address, self.port);
            let real: Vec<Address> =
                self.addresses.iter().map(listen).collect::<Result<_, _>>().map_err(SimError::Listen)?;
            Ok((core, real))
        });
        // The starter waits for this word; if it is gone, so is our handle, and `stop` is set.
        let accepts_failed = match begun {
            Ok((mut core, addresses)) => {
                let _ = told.send(Ok(addresses));
                core.run(&mut host, |_, _| self.stop.load(Relaxed));
                core.pump().ring().counters().accepts_failed
            }
            Err(error) => {
                let _ = told.send(Err(error));
                0
            }
        };
        ShardReport { accepts_failed, ..host.report(self.cpu, &meters[shard]) }
    }
}
