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
}

impl Outbox {
    /// The index of the next request to prepare; `None` when enough are ready, or none is known.
    pub fn wants(&self, source: &Source) -> Option<u64> {
        if self.ready.len() >= AHEAD { None } else { source.upcoming(self.ready.len()) }
    }

    /// Prepares request `index`, the next that [`Outbox::wants`] named.
    pub fn prepare(&mut self, workload: &Workload, index: u64) {
        let request = self.fill(workload, index);
        self.ready.push_back((index, request));
    }

    /// The bytes of request `index`: prepared, or made now.
    pub fn take(&mut self, workload: &Workload, index: u64) -> Request {
        while let Some((prepared, request)) = self.ready.pop_front() {
            if prepared == index {
                return request;
            }
            self.spare.push(request);
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
