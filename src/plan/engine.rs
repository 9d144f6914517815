//! By which system calls sockets are driven: the options `--engine` and `--sim-socket-engine`; makes no system call.

use super::Limits;
use super::reading::{Given, Place, Reading};
use std::fmt;

/// The two ways to drive sockets. Both make the same trace; io_uring costs less where little arrives at once.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// io_uring.
    #[default]
    Uring,
    /// epoll and recvmsg, for hosts that forbid io_uring.
    Epoll,
}

impl Engine {
    /// The word that options and reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Epoll => "epoll",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uring => "io_uring",
            Self::Epoll => "epoll",
        })
    }
}

/// What may be asked for; none = whatever can be had.
const WISHES: [(&str, Option<Engine>); 3] =
    [("auto", None), ("uring", Some(Engine::Uring)), ("epoll", Some(Engine::Epoll))];

/// Whether a text is a wish for an engine.
pub(super) fn is_wish(text: &str) -> bool {
    WISHES.iter().any(|(word, _)| *word == text)
}

/// The engine that is asked for by name, if one is.
pub(super) fn wish(r: &mut Reading, given: Given<'_>) -> Option<Engine> {
    r.word(given, &WISHES).flatten()
}

/// Something that keeps io_uring from a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Obstacle {
    pub(super) what: &'static str,
    pub(super) found: String,
    pub(super) accepted: String,
    pub(super) remedy: String,
}

/// What keeps io_uring from so many shards of ours, and of a simulator in this process.
pub(super) fn obstacles(limits: &Limits, shards: usize, of_sim: usize) -> Vec<Obstacle> {
    let mut all = of_machine(limits);
    all.extend(of_memory(limits, shards, of_sim));
    if all.is_empty() {
        // What a try says is told where nothing tells it better.
        all.extend(of_try(limits));
    }
    all
}

/// Whether io_uring cannot be had, whatever is asked.
pub(super) fn is_refused(limits: &Limits) -> bool {
    limits.ring_refused.is_some() || !of_machine(limits).is_empty()
}

/// What the kernel itself says.
fn of_machine(limits: &Limits) -> Vec<Obstacle> {
    /// Deferred task running and multishot receive with control messages came with it.
    const OLDEST: (u32, u32) = (6, 1);
    let old = limits.kernel.filter(|version| *version < OLDEST).map(|(major, minor)| Obstacle {
        what: "this machine's kernel",
        found: format!("{major}.{minor}"),
        accepted: "Linux 6.1 or later".into(),
        remedy: "run on a host with a newer kernel".into(),
    });
    let forbidden = limits.io_uring_forbidden.as_ref().map(|why| Obstacle {
        what: "io_uring",
        found: why.clone(),
        accepted: "a kernel and container that allow io_uring".into(),
        remedy: "sysctl kernel.io_uring_disabled=0; in a container a seccomp profile that allows io_uring_setup, \
                 io_uring_enter and io_uring_register (docker run --security-opt seccomp=..., docs/ENGINES.md)"
            .into(),
    });
    old.into_iter().chain(forbidden).collect()
}

/// What a ring made for a moment met.
fn of_try(limits: &Limits) -> Option<Obstacle> {
    let why = limits.ring_refused.as_deref()?;
    let (found, remedy) = why.split_once(": ").unwrap_or((why, "see lowrho doctor"));
    Some(Obstacle {
        what: "io_uring",
        found: found.into(),
        accepted: "a kernel and container that allow io_uring".into(),
        remedy: remedy.into(),
    })
}

/// Locked memory of one shard: its socket ring and the executor's rings. Measured as an unprivileged user on Linux 6.18:
/// 6 shards start within 1,185 KiB, 16 within 3,592, 32 within 7,756, so at most 243 KiB each.
pub const SHARD_LOCKED_BYTES: u64 = 256 * 1024;

/// glommio refuses to start below this limit, whatever it needs.
const LEAST_LOCKED_BYTES: u64 = 512 * 1024;

/// Whether the rings of so many shards of ours, and of those of a simulator in this process, may be locked.
fn of_memory(limits: &Limits, shards: usize, of_sim: usize) -> Option<Obstacle> {
    let needed = u64::try_from(shards + of_sim).expect("few shards") * SHARD_LOCKED_BYTES;
    let needed = needed.max(LEAST_LOCKED_BYTES);
    let allowed = limits.memlock_bytes.filter(|allowed| *allowed < needed)?;
    let counted = |n: usize, whose: &str| match n {
        0 => None,
        1 => Some(format!("1 shard of {whose}")),
        n => Some(format!("{n} shards of {whose}")),
    };
    let whose = [counted(shards, "the client"), counted(of_sim, "the simulator")];
    let whose: Vec<String> = whose.into_iter().flatten().collect();
    let fewer = match (shards, of_sim) {
        (0 | 1, 0 | 1) => String::new(),
        (0, _) => ", or take fewer CPUs (--cpus)".into(),
        _ => ", or take fewer shards (--shards, --sim-cpus)".into(),
    };
    Some(Obstacle {
        what: "locked memory (ulimit -l)",
        found: format!("{} KiB", allowed / 1024),
        accepted: format!("at least {} KiB for {}", needed / 1024, whose.join(" and ")),
        remedy: format!(
            "raise it (ulimit -l unlimited, LimitMEMLOCK=infinity, docker run --ulimit memlock=-1){fewer}"
        ),
    })
}

/// The engine to take, and the caveat where that is epoll because nothing else can be had. `flag` = the option that asks for
/// epoll.
pub(super) fn choose(
    r: &mut Reading,
    wish: Option<Engine>,
    obstacles: &[Obstacle],
    flag: &str,
) -> (Engine, Option<String>) {
    match (wish, obstacles) {
        (Some(Engine::Epoll), _) => (Engine::Epoll, None),
        (None, []) => (Engine::Uring, None),
        (None, [Obstacle { what, found, accepted, remedy }, ..]) => {
            let why = if *what == "io_uring" {
                found.clone()
            } else {
                format!("{what} is {found}, and it takes {accepted}")
            };
            let caveat = format!(
                "io_uring cannot be had here ({why}), so sockets are driven by epoll: the same stamps at another cost \
                 (docs/ENGINES.md); to have it: {remedy}"
            );
            (Engine::Epoll, Some(caveat))
        }
        (Some(Engine::Uring), obstacles) => {
            for Obstacle { what, found, accepted, remedy } in obstacles {
                let remedy = format!("{remedy}; or do without io_uring ({flag} epoll)");
                r.note(Place::Whole(what), Some(found.clone()), accepted.clone(), remedy);
            }
            (Engine::Uring, None)
        }
    }
}
