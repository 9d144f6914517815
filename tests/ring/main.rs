//! The socket ring over real sockets of the loopback: each test once for each engine, whose traces must be the same.

#![allow(clippy::duplicate_mod, reason = "the same tests, of another engine")]

mod epoll;
mod uring;
