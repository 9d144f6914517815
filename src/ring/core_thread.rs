//! A core of our own: a thread pinned to it, the socket ring, and the executor in whose main task the pump turns; on epoll
//! the pump turns alone.
//!
//! It must not know what the handler does; it is the one place where glommio is spoken to.

use super::{Engine, Handler, Pass, Payload, Pump, PumpConfig, Ring, RingConfig, RingError};
use crate::time::{Instant, Span};
use glommio::{LocalExecutor, LocalExecutorBuilder, Placement};
use std::fmt;

/// How often the executor's other tasks get their turn. Yielding costs several ring entries of glommio's own, and there is
/// no other task of ours: it is rare.
const BEAT: Span = Span::from_ms(100);

/// Memory for file input and output, and entries of glommio's rings: we use neither, and both count as locked memory.
const IO_MEMORY_BYTES: usize = 64 << 10;
const RING_DEPTH: usize = 16;

/// CPUs a `cpu_set_t` holds; `core_affinity` panics beyond.
const CPU_SET_SIZE: usize = 1024;

/// Why there is no core.
#[derive(Debug)]
pub enum CoreError {
    /// The thread may not run on this CPU.
    NotAllowed {
        /// The CPU asked for.
        cpu: usize,
    },
    /// The socket ring.
    Ring(RingError),
    /// The executor; in glommio's words.
    Executor(String),
}

impl fmt::Display for CoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAllowed { cpu } => {
                write!(
                    f,
                    "this process may not run on cpu {cpu}: choose from its allowed CPUs (taskset -p, cpuset)"
                )
            }
            Self::Ring(error) => error.fmt(f),
            Self::Executor(words) => write!(
                f,
                "the executor's rings cannot be had ({}): raise the locked-memory limit (ulimit -l), or use fewer shards",
                // The remedy is what follows the first colon.
                words.replace(": ", ", ")
            ),
        }
    }
}

impl std::error::Error for CoreError {}

/// The calling thread, made into a core. It stays pinned.
pub struct Core<P: Payload> {
    /// None on epoll: glommio cannot be had without io_uring of its own.
    executor: Option<LocalExecutor>,
    pump: Pump<P>,
}

impl<P: Payload> Core<P> {
    /// Pins this thread to `cpu` (`None` = leaves it where it is) and makes its rings.
    ///
    /// The socket ring comes before glommio's: under a locked-memory limit the other way round left none for it.
    ///
    /// # Errors
    /// The CPU is not allowed, or a ring cannot be had.
    pub fn new(cpu: Option<usize>, ring: &RingConfig, pump: PumpConfig) -> Result<Self, CoreError> {
        if let Some(cpu) = cpu
            && (cpu >= CPU_SET_SIZE || !core_affinity::set_for_current(core_affinity::CoreId { id: cpu }))
        {
            return Err(CoreError::NotAllowed { cpu });
        }
        let engine = ring.engine;
        let ring = Ring::new(ring).map_err(CoreError::Ring)?;
        let executor = match engine {
            Engine::Uring => Some(executor()?),
            Engine::Epoll => None,
        };
        Ok(Self { executor, pump: Pump::new(ring, pump) })
    }

    /// The pump, between runs.
    pub fn pump(&mut self) -> &mut Pump<P> {
        &mut self.pump
    }

    /// Turns the pump until `is_over` says so after a turn.
    pub fn run<H: Handler<Payload = P>>(
        &mut self,
        handler: &mut H,
        mut is_over: impl FnMut(&mut H, &Pass) -> bool,
    ) {
        let Self { executor, pump } = self;
        let mut turn = || {
            let pass = pump.turn(handler);
            (is_over(handler, &pass), pass.ended)
        };
        let Some(executor) = executor else {
            // Nothing else runs here that would have to be given a turn.
            while !turn().0 {}
            return;
        };
        executor.run(async {
            let mut yielded = Instant::ZERO;
            loop {
                let (over, ended) = turn();
                if over {
                    break;
                }
                if ended - yielded >= BEAT {
                    yielded = ended;
                    glommio::executor().yield_task_queue_now().await;
                }
            }
        });
    }
}

fn executor() -> Result<LocalExecutor, CoreError> {
    // The preempt timer stays at its default: shorter ones hang glommio 0.9.
    LocalExecutorBuilder::new(Placement::Unbound)
        .io_memory(IO_MEMORY_BYTES)
        .ring_depth(RING_DEPTH)
        .make()
        .map_err(|error| CoreError::Executor(error.to_string()))
}
