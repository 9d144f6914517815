//! The receive buffers of a ring, lent to the kernel and taken back one by one.
//!
//! It must not know what is in a buffer.
#![allow(unsafe_code, reason = "memory shared with the kernel")]

use super::{RingConfig, RingError};
use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::{NonNull, null_mut};
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};

/// The one group of buffers of a ring.
pub(super) const GROUP: u16 = 0;

/// Zeroed pages of our own; they stay where they are until the last owner drops them.
#[derive(Debug)]
struct Pages {
    base: NonNull<u8>,
    bytes: usize,
}

impl Pages {
    fn new(bytes: usize) -> Result<Self, RingError> {
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let base = unsafe {
            mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        let base = base.map_err(|errno| RingError::of_setup("mmap of receive buffers", errno))?;
        Ok(Self { base: NonNull::new(base.cast()).expect("a mapping is not at zero"), bytes })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone, and whoever borrowed from it borrowed from `self`.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "our own mapping can be unmapped");
    }
}

/// The bytes of all buffers. Shared with the pump, so that a read stays valid whatever its handler does to the ring.
#[derive(Debug)]
pub(super) struct Memory {
    pages: Pages,
    each: usize,
}

impl Memory {
    /// Maps the buffers.
    pub(super) fn new(config: &RingConfig) -> Result<Self, RingError> {
        let each = usize::try_from(config.buffer_bytes).expect("a 64-bit host");
        Ok(Self { pages: Pages::new(config.total_buffer_bytes())?, each })
    }

    /// Where buffer `id` begins; [`Memory::each`] bytes from there are its own.
    pub(super) fn start(&self, id: u16) -> NonNull<u8> {
        assert!(usize::from(id) < self.count(), "buffers are known by their numbers");
        // SAFETY: just checked to be inside the mapping.
        unsafe { self.pages.base.add(usize::from(id) * self.each) }
    }

    /// How many buffers there are.
    pub(super) const fn count(&self) -> usize {
        self.pages.bytes / self.each
    }

    /// Bytes of one buffer.
    pub(super) const fn each(&self) -> usize {
        self.each
    }

    /// The first `bytes` bytes of buffer `id`.
    ///
    /// # Safety
    /// The kernel must have filled the buffer, and nobody may write to it while the slice lives.
    pub(super) unsafe fn filled(&self, id: u16, bytes: usize) -> &[u8] {
        let from = usize::from(id) * self.each;
        assert!(
            bytes <= self.each && from + bytes <= self.pages.bytes,
            "the kernel fills only what it was lent"
        );
        // SAFETY: just checked to be inside the mapping.
        let start = unsafe { self.pages.base.add(from) };
        // SAFETY: initialized (the mapping was zeroed), and nobody writes to it, by this function's contract.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes) }
    }
}

/// The ring of lent buffers.
pub(super) struct Buffers {
    memory: Rc<Memory>,
    lent: Pages,
    mask: u16,
    /// The tail as we know it; the kernel sees it after [`Buffers::publish`].
    tail: u16,
}

impl Buffers {
    /// Maps the buffers and registers them.
    pub(super) fn register(config: &RingConfig, submitter: &Submitter<'_>) -> Result<Self, RingError> {
        let memory = Rc::new(Memory::new(config)?);
        let lent = Pages::new(usize::from(config.buffers) * size_of::<BufRingEntry>())?;
        let address = u64::try_from(lent.base.as_ptr().addr()).expect("a 64-bit host");
        // SAFETY: `lent` is page-aligned, holds that many entries, and outlives the registration: `Ring` unregisters by
        // closing the io_uring before it drops its buffers.
        let registered = unsafe { submitter.register_buf_ring_with_flags(address, config.buffers, GROUP, 0) };
        registered.map_err(|error| RingError::of_io("registering receive buffers", &error))?;
        let mut buffers = Self { memory, lent, mask: config.buffers - 1, tail: 0 };
        (0..config.buffers).for_each(|id| buffers.lend(id));
        buffers.publish();
        Ok(buffers)
    }

    pub(super) const fn memory(&self) -> &Rc<Memory> {
        &self.memory
    }

    /// Lends buffer `id` to the kernel, from the next [`Buffers::publish`] on. It must not be lent already.
    pub(super) fn lend(&mut self, id: u16) {
        assert!(id <= self.mask, "the kernel gives back only what it was lent");
        let length = u32::try_from(self.memory.each).expect("buffers are at most 4 MiB");
        let start = self.memory.start(id);
        // SAFETY: the mask keeps the entry inside the mapping.
        let entry = unsafe { self.entries().add(usize::from(self.tail & self.mask)) };
        // SAFETY: aligned and initialized (zeroed pages). The kernel only reads entries, and this one not before the
        // tail is published; no other reference to it lives.
        let entry = unsafe { &mut *entry };
        entry.set_addr(u64::try_from(start.as_ptr().addr()).expect("a 64-bit host"));
        entry.set_len(length);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Shows the kernel what was lent.
    pub(super) fn publish(&mut self) {
        // SAFETY: the base of a registered, initialized ring of entries.
        let tail = unsafe { BufRingEntry::tail(self.entries()) };
        // SAFETY: aligned, inside the mapping, and from here on only touched atomically; the kernel reads it with
        // acquire ordering.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// Keeps the memory for good: for a kernel that could not be made to let go of it.
    pub(super) fn leak(self) {
        let _ = std::mem::ManuallyDrop::new(self);
    }

    const fn entries(&self) -> *mut BufRingEntry {
        self.lent.base.as_ptr().cast()
    }
}
