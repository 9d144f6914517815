//! Every test, on io_uring.

use lowrho::ring::Engine;

const ENGINE: Engine = Engine::Uring;

#[path = "addresses.rs"]
mod addresses;
#[path = "pump.rs"]
mod pump;
