//! What is being sent, kept alive and in place until the kernel is done with it.
//!
//! It must not talk to the kernel: it holds what the kernel reads.
#![allow(unsafe_code, reason = "memory shared with the kernel")]

use super::{Conn, Payload};
use std::io::IoSlice;
use std::ptr::NonNull;

/// The most slices one send may have: `UIO_MAXIOV` of the kernel.
const MOST_SLICES: usize = 1024;

/// The part that the kernel reads. It lives in a box of its own that is never moved, nor touched while in flight.
struct Pinned<P> {
    payload: Option<P>,
    /// Slices of `payload`, of the lifetime of this send; empty when nothing is in flight.
    slices: Vec<IoSlice<'static>>,
    message: libc::msghdr,
}

/// One send: what we may touch at any time.
struct Send<P> {
    /// From `Box::into_raw`: a raw pointer, because a box that moves would claim its content anew.
    pinned: NonNull<Pinned<P>>,
    conn: Conn,
    bytes: usize,
    /// The next send of the same connection.
    next: Option<u32>,
}

/// All sends of a ring, given to the kernel or waiting for their turn. Boxes are used again, so that nothing is
/// allocated once as many sends as ever have been in flight together.
pub(super) struct Payloads<P> {
    sends: Vec<Send<P>>,
    vacant: Vec<u32>,
}

impl<P: Payload> Payloads<P> {
    pub(super) const fn new() -> Self {
        Self { sends: Vec::new(), vacant: Vec::new() }
    }

    /// Puts `payload` in its final place and takes its slices; gives its index and how many bytes they are.
    pub(super) fn load(&mut self, conn: Conn, payload: P) -> (u32, usize) {
        let index = self.vacant.pop().unwrap_or_else(|| self.grow());
        let send = self.at_mut(index);
        (send.conn, send.next) = (conn, None);
        // SAFETY: the box is alive, and vacant: neither the kernel nor anyone else refers to it.
        let pinned = unsafe { send.pinned.as_mut() };
        let mut slices: Vec<IoSlice<'_>> = std::mem::take(&mut pinned.slices);
        pinned.payload.insert(payload).slices(&mut slices);
        assert!(slices.len() <= MOST_SLICES, "a payload has at most {MOST_SLICES} slices");
        send.bytes = slices.iter().map(|slice| slice.len()).sum();
        // SAFETY: only the lifetime is changed. The slices borrow from `pinned.payload`, which stays where it is and is
        // not touched until `unload` has dropped them.
        pinned.slices = unsafe { std::mem::transmute::<Vec<IoSlice<'_>>, Vec<IoSlice<'static>>>(slices) };
        // IoSlice is ABI-compatible with iovec on Unix, by its documentation.
        pinned.message.msg_iov = pinned.slices.as_mut_ptr().cast();
        pinned.message.msg_iovlen = pinned.slices.len();
        (index, send.bytes)
    }

    /// The message to send; valid and unmoved until [`Payloads::unload`].
    pub(super) fn message(&self, index: u32) -> *const libc::msghdr {
        let pinned = self.at(index).pinned.as_ptr();
        // SAFETY: the box is alive; only an address is computed.
        unsafe { &raw const (*pinned).message }
    }

    /// Leaves out of the message the first `bytes`, which the kernel has taken; it must hold no other part of it. Whether
    /// that was all.
    pub(super) fn advance(&mut self, index: u32, bytes: usize) -> bool {
        let send = self.at_mut(index);
        // SAFETY: the box is alive, and by this function's contract the kernel does not refer to it.
        let pinned = unsafe { send.pinned.as_mut() };
        let gone = pinned.slices.len() - pinned.message.msg_iovlen;
        let mut rest = &mut pinned.slices[gone..];
        IoSlice::advance_slices(&mut rest, bytes);
        (pinned.message.msg_iov, pinned.message.msg_iovlen) = (rest.as_mut_ptr().cast(), rest.len());
        rest.is_empty()
    }

    /// Takes the payload back; the kernel must be done with it, or never have been asked.
    pub(super) fn unload(&mut self, index: u32) -> P {
        let send = self.at_mut(index);
        // SAFETY: the box is alive, and by this function's contract the kernel no longer refers to it.
        let pinned = unsafe { send.pinned.as_mut() };
        pinned.slices.clear();
        let payload = pinned.payload.take().expect("a loaded send has its payload");
        self.vacant.push(index);
        payload
    }

    pub(super) fn conn(&self, index: u32) -> Conn {
        self.at(index).conn
    }

    pub(super) fn bytes(&self, index: u32) -> usize {
        self.at(index).bytes
    }

    pub(super) fn next(&self, index: u32) -> Option<u32> {
        self.at(index).next
    }

    pub(super) fn set_next(&mut self, index: u32, next: u32) {
        self.at_mut(index).next = Some(next);
    }

    /// Keeps every box for good: for a kernel that could not be made to let go of them.
    pub(super) fn leak(&mut self) {
        self.sends.clear();
        self.vacant.clear();
    }

    fn grow(&mut self) -> u32 {
        // SAFETY: all zero is a valid msghdr: null pointers with zero lengths.
        let message = unsafe { std::mem::zeroed() };
        let pinned = Box::new(Pinned { payload: None, slices: Vec::new(), message });
        let pinned = NonNull::from(Box::leak(pinned));
        let index = u32::try_from(self.sends.len()).expect("sends in flight are fewer than 2^32");
        self.sends.push(Send { pinned, conn: Conn { slot: 0, generation: 0 }, bytes: 0, next: None });
        index
    }

    fn at(&self, index: u32) -> &Send<P> {
        &self.sends[usize::try_from(index).expect("a 64-bit host")]
    }

    fn at_mut(&mut self, index: u32) -> &mut Send<P> {
        &mut self.sends[usize::try_from(index).expect("a 64-bit host")]
    }
}

impl<P> Drop for Payloads<P> {
    /// Nothing may be in flight: the ring waits for the kernel first, or leaks.
    fn drop(&mut self) {
        for send in &self.sends {
            // SAFETY: made by `Box::leak` in `grow`, freed here only, and nobody refers to it any more.
            let mut pinned = unsafe { Box::from_raw(send.pinned.as_ptr()) };
            pinned.slices.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    struct Parts(Vec<Vec<u8>>, #[expect(dead_code, reason = "counted")] Rc<()>);

    impl Payload for Parts {
        fn slices<'a>(&'a self, into: &mut Vec<IoSlice<'a>>) {
            into.extend(self.0.iter().map(|part| IoSlice::new(part)));
        }
    }

    const CONN: Conn = Conn { slot: 3, generation: 9 };

    #[test]
    fn a_message_shows_the_payloads_bytes_in_order_wherever_the_slab_moves() {
        let mut payloads = Payloads::new();
        let alive = Rc::new(());
        let (first, bytes) = payloads.load(CONN, Parts(vec![b"ab".to_vec(), b"cde".to_vec()], alive.clone()));
        assert_eq!(bytes, 5);
        for n in 0..100 {
            payloads.load(CONN, Parts(vec![vec![n; 10]], alive.clone()));
        }
        let message = payloads.message(first);
        // SAFETY: the message is valid until `unload`.
        let message = unsafe { &*message };
        // SAFETY: its slices are too, and there are as many as it says.
        let slices =
            unsafe { std::slice::from_raw_parts(message.msg_iov.cast::<IoSlice<'_>>(), message.msg_iovlen) };
        assert_eq!(
            slices.iter().map(|slice| slice.to_vec()).collect::<Vec<_>>(),
            [b"ab".to_vec(), b"cde".to_vec()]
        );
        assert_eq!(payloads.unload(first).0.concat(), b"abcde");
        assert_eq!(payloads.conn(first), CONN);
    }

    #[test]
    fn what_the_kernel_has_taken_is_left_out_to_the_byte() {
        let parts = [b"ab".to_vec(), Vec::new(), b"cde".to_vec(), b"f".to_vec()];
        for taken in 0..=6 {
            for then in 0..=6 - taken {
                let mut payloads = Payloads::new();
                let (index, bytes) = payloads.load(CONN, Parts(parts.to_vec(), Rc::new(())));
                let over = payloads.advance(index, taken) | payloads.advance(index, then);
                assert_eq!(over, taken + then == bytes);
                // SAFETY: the message is valid until `unload`.
                let message = unsafe { &*payloads.message(index) };
                // SAFETY: its slices are too, and there are as many as it says.
                let slices = unsafe {
                    std::slice::from_raw_parts(message.msg_iov.cast::<IoSlice<'_>>(), message.msg_iovlen)
                };
                let rest: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
                assert_eq!(rest, b"abcdef"[taken + then..]);
                assert_eq!(payloads.unload(index).0, parts, "the payload itself is as it was");
            }
        }
    }

    #[test]
    fn what_is_still_loaded_is_dropped_with_the_slab() {
        let alive = Rc::new(());
        let mut payloads = Payloads::new();
        let (taken, _) = payloads.load(CONN, Parts(vec![], alive.clone()));
        payloads.load(CONN, Parts(vec![b"x".to_vec()], alive.clone()));
        drop(payloads.unload(taken));
        assert_eq!(Rc::strong_count(&alive), 2);
        drop(payloads);
        assert_eq!(Rc::strong_count(&alive), 1);
    }

    #[test]
    fn a_vacated_place_is_used_again() {
        let mut payloads = Payloads::new();
        let (first, _) = payloads.load(CONN, Parts(vec![], Rc::new(())));
        payloads.unload(first);
        let (second, _) = payloads.load(CONN, Parts(vec![], Rc::new(())));
        assert_eq!(first, second);
    }
}
