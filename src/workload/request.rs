//! One request ready to be sent: bytes of its own, and ranges of the bytes that all requests share.
//! It must not be written to while it is being sent; its buffers are reused for the next one.

use std::io::IoSlice;
use std::ops::Range;
use std::sync::Arc;

/// A stretch of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Of its own bytes.
    Own(Range<u32>),
    /// Of the shared bytes.
    Shared(Range<u32>),
}

/// The bytes of one HTTP request, head and body.
#[derive(Clone, Debug)]
pub struct Request {
    own: Vec<u8>,
    pieces: Vec<Piece>,
    shared: Arc<[u8]>,
    /// Length of the HTTP head.
    head: usize,
}

impl Default for Request {
    fn default() -> Self {
        Self { own: Vec::new(), pieces: Vec::new(), shared: Arc::from([]), head: 0 }
    }
}

impl Request {
    /// An empty one, to be filled by [`super::Workload::request`] again and again.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The stretches, in order.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The bytes, in order, for one vectored send. Two are its own; a prompt has one or two more,
    /// and one more for every 65,536 words.
    pub fn slices<'a>(&'a self, into: &mut Vec<IoSlice<'a>>) {
        into.extend(self.pieces.iter().map(|piece| IoSlice::new(self.bytes(piece))));
    }

    /// Bytes in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| self.bytes(piece).len()).sum()
    }

    /// Whether nothing was written into it yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that are its own: what preparing it has written.
    #[must_use]
    pub fn own_len(&self) -> usize {
        self.own.len()
    }

    /// The whole request in one piece, for reading: `--dry-run`, the probe, tests.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|piece| self.bytes(piece)).copied().collect()
    }

    /// The body in one piece, for reading.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        self.to_bytes().split_off(self.head)
    }

    #[cfg(test)]
    pub(super) fn capacities(&self) -> (usize, usize) {
        (self.own.capacity(), self.pieces.capacity())
    }

    fn bytes(&self, piece: &Piece) -> &[u8] {
        let (bytes, range) = match piece {
            Piece::Own(range) => (self.own.as_slice(), range),
            Piece::Shared(range) => (&*self.shared, range),
        };
        &bytes[range.start as usize..range.end as usize]
    }

    /// Forgets what it held, keeps its buffers, and borrows from `shared` from now on.
    pub(super) fn restart(&mut self, shared: &Arc<[u8]>) {
        self.own.clear();
        self.pieces.clear();
        if !Arc::ptr_eq(&self.shared, shared) {
            self.shared = Arc::clone(shared);
        }
    }

    /// Appends bytes of its own, and marks them as one piece.
    pub(super) fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.end();
        write(&mut self.own);
        let end = self.end();
        match self.pieces.last_mut() {
            Some(Piece::Own(last)) if last.end == begin => last.end = end,
            _ => self.pieces.push(Piece::Own(begin..end)),
        }
    }

    /// Appends a stretch of the shared bytes.
    pub(super) fn borrow(&mut self, range: Range<u32>) {
        self.pieces.push(Piece::Shared(range));
    }

    /// Says that the head ends here.
    pub(super) fn end_head(&mut self) {
        self.head = self.own.len();
    }

    fn end(&self) -> u32 {
        u32::try_from(self.own.len()).expect("a request's own bytes are few")
    }
}
