//! The bare ring reader: the same flags, sockets and waits as the pump, and nothing but counting.
#![allow(unsafe_code, reason = "the io-uring crate without a ring around it")]
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "lending one buffer is one deed")]

use crate::source::Source;
use crate::{Load, Used, WINDOW};
use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use lowrho::clock;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};

const BUFFERS: u16 = 512;
const BUFFER_BYTES: u32 = 4096;
const HEADER_BYTES: u32 = 80;
/// One enter that does not wait runs no more than this; fewer mean that nothing is left.
const DEFERRED_AT_ONCE: usize = 20;

#[repr(C, align(4096))]
struct Lent([u8; BUFFERS as usize * size_of::<BufRingEntry>()]);

pub(crate) fn read(load: &Load) -> Used {
    let source = Source::start(load);
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_taskrun_flag()
        .setup_cqsize(1024)
        .build(256)
        .expect("io_uring works here");
    let mut memory = vec![0_u8; usize::from(BUFFERS) * BUFFER_BYTES as usize];
    let mut lent = Box::new(Lent([0; BUFFERS as usize * size_of::<BufRingEntry>()]));
    let entries: *mut BufRingEntry = lent.0.as_mut_ptr().cast();
    let base = memory.as_mut_ptr();
    let mut tail = 0_u16;
    let mut lend = |id: u16| {
        // SAFETY: one writer, masked into the ring of entries; each buffer lies inside `memory`.
        unsafe {
            let entry = &mut *entries.add(usize::from(tail % BUFFERS));
            entry.set_addr(base.add(usize::from(id) * BUFFER_BYTES as usize) as u64);
            entry.set_len(BUFFER_BYTES);
            entry.set_bid(id);
            tail = tail.wrapping_add(1);
            AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()).store(tail, Ordering::Release);
        }
    };
    // SAFETY: both live until the ring is dropped, below.
    unsafe { ring.submitter().register_buf_ring_with_flags(entries as u64, BUFFERS, 0, 0) }
        .expect("registered");
    (0..BUFFERS).for_each(&mut lend);

    // SAFETY: all zero is a valid msghdr.
    let mut form: libc::msghdr = unsafe { std::mem::zeroed() };
    form.msg_controllen = 64;
    let streams: Vec<TcpStream> =
        (0..load.connections).map(|_| TcpStream::connect(source.address).expect("it listens")).collect();
    for (n, stream) in streams.iter().enumerate() {
        stamp(stream);
        let receive = opcode::RecvMsgMulti::new(Fd(stream.as_raw_fd()), &raw const form, 0).build();
        // SAFETY: `form` and the buffers outlive the ring.
        while unsafe { ring.submission().push(&receive.clone().user_data(n as u64)) }.is_err() {
            ring.submit().expect("submitted");
        }
    }
    ring.submit().expect("submitted");

    source.go();
    let (begun, begun_cpu) = (clock::now(), clock::thread_cpu());
    let (mut bytes, mut reads) = (0_u64, 0_u64);
    let longest = Timespec::new().nsec(5_000_000);
    let window_us = u32::try_from(WINDOW.as_ns() / 1_000).expect("short");
    while bytes < load.bytes() {
        let args = SubmitArgs::new().timespec(&longest).min_wait_usec(window_us);
        let _ = ring.submitter().submit_with_args(128, &args);
        let mut swept = false;
        loop {
            let mut came = 0;
            for done in ring.completion() {
                came += 1;
                let read = u32::try_from(done.result()).expect("nobody hangs up, and buffers suffice");
                bytes += u64::from(read - HEADER_BYTES);
                reads += 1;
                lend(cqueue::buffer_select(done.flags()).expect("a buffer"));
                assert!(cqueue::more(done.flags()), "buffers suffice");
            }
            // The flag alone may stay up with nothing behind it: it is set after the work was added, and the enter in
            // between has taken that work already. A reader that waits for it to fall spins until the next arrival.
            if swept && came < DEFERRED_AT_ONCE || !ring.submission().taskrun() {
                break;
            }
            let _ = ring.submitter().submit();
            swept = true;
        }
    }
    let used = Used { cpu: clock::thread_cpu() - begun_cpu, wall: clock::now() - begun, reads };
    source.join();
    drop(ring);
    used
}

fn stamp(stream: &TcpStream) {
    let wanted = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    // SAFETY: the option is an int.
    let status = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const wanted).cast(),
            4,
        )
    };
    assert_eq!(status, 0, "stamps");
}
