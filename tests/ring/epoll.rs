//! Every test, on epoll.

use lowrho::ring::Engine;

const ENGINE: Engine = Engine::Epoll;

#[path = "addresses.rs"]
mod addresses;
#[path = "pump.rs"]
mod pump;
