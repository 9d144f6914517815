//! The socket ring and its pump: io_uring, provided buffers, receive stamps. The only room with `unsafe`.
//!
//! It must not know what the bytes mean, nor who runs it: a [`Handler`] does.

mod handler;

pub use handler::{Conn, Departure, End, Handler, Job, JobClass, Pass, Payload, Read, Task};
use std::marker::PhantomData;
/// placeholder until the ring moves in
pub struct Ring<P> {
    _payload: PhantomData<P>,
}
