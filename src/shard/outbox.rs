//! Requests whose bytes are ready before they are due, and the memory of those that were sent.
//!
//! It does not know when a request is due.

use super::source::{AHEAD, Source};
use crate::workload::{Request, Workload};
use std::collections::VecDeque;

/// Prepared requests in the order of their sending.
#[derive(Default)]
pub struct Outbox {
    ready: VecDeque<(u64, Request)>,
    spare: Vec<Request>,
    /// Half of what may be ready is gone: the rest of it is made in one go, which costs less than one now and then.
    filling: bool,
}

impl Outbox {
    /// The index of the next request to prepare; `None` when enough are ready, or none is known.
    pub fn wants(&self, source: &Source) -> Option<u64> {
        let ready = self.ready.len();
        let wanted = ready < AHEAD && (self.filling || ready <= AHEAD / 2);
        if wanted { source.upcoming(ready) } else { None }
    }

    /// Prepares request `index`, the next that [`Outbox::wants`] named.
    pub fn prepare(&mut self, workload: &Workload, index: u64) {
        let request = self.fill(workload, index);
        self.ready.push_back((index, request));
        self.filling = self.ready.len() < AHEAD;
    }

    /// The bytes of request `index`: prepared, or made now.
    pub fn take(&mut self, workload: &Workload, index: u64) -> Request {
        // A request that had to wait for the pool was prepared before those that are ready now; a closed loop's guess of
        // its next index may be wrong: then all that is ready is.
        if let Some(at) = self.ready.iter().position(|(prepared, _)| *prepared == index) {
            self.spare.extend(self.ready.drain(..at).map(|(_, request)| request));
            let (_, request) = self.ready.pop_front().expect("its place was found");
            return request;
        }
        if self.ready.front().is_some_and(|(prepared, _)| *prepared < index) {
            self.spare.extend(self.ready.drain(..).map(|(_, request)| request));
        }
        self.fill(workload, index)
    }

    /// The bytes of request `index`, which was taken before.
    pub fn again(&mut self, workload: &Workload, index: u64) -> Request {
        self.fill(workload, index)
    }

    /// The kernel has sent it: its memory is free.
    pub fn put_back(&mut self, request: Request) {
        self.spare.push(request);
    }

    fn fill(&mut self, workload: &Workload, index: u64) -> Request {
        let mut request = self.spare.pop().unwrap_or_default();
        workload.request(index, &mut request);
        request
    }
}
