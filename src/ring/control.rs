//! What the kernel puts into a receive buffer: its header, the stamp's control message, the bytes.
//!
//! It must not map the stamp: that takes a clock's offset.
//! Layout: `struct io_uring_recvmsg_out` in linux/io_uring.h, cmsg(3), and timestamping.rst, 2.1.2.

use super::RingConfig;

/// `struct io_uring_recvmsg_out`: the lengths of name, control and payload, and the message's flags.
pub(super) const RECVMSG_OUT_BYTES: usize = 16;
/// `struct cmsghdr`: its length (with the header), level and type.
const CMSG_HEADER_BYTES: usize = 16;
/// Three `struct timespec`: software, unused, hardware.
const TIMESTAMPING_BYTES: usize = 48;
/// The room that a receive asks for its control messages: one stamp.
pub(super) const CONTROL_BYTES: usize = CMSG_HEADER_BYTES + TIMESTAMPING_BYTES;

const _: () = {
    assert!(size_of::<usize>() == 8, "cmsghdr is laid out for 64-bit hosts here");
    assert!(RingConfig::HEADER_BYTES as usize == RECVMSG_OUT_BYTES + CONTROL_BYTES);
};

/// Stamps as seconds and nanoseconds; `None` = there is none.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Raw {
    /// The kernel's, of `CLOCK_REALTIME`.
    pub(super) kernel: Option<(i64, i64)>,
    /// The network card's, of its own clock.
    pub(super) card: Option<(i64, i64)>,
}

/// One filled buffer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Filled {
    /// The stamps of the last segment.
    pub(super) stamps: Raw,
    /// How many bytes follow the [`RingConfig::HEADER_BYTES`].
    pub(super) bytes: usize,
}

/// Reads the header of a filled buffer; `None` when it is too short to be one.
pub(super) fn read_filled(buffer: &[u8]) -> Option<Filled> {
    let control_bytes = usize::try_from(u32_at(buffer, 4)?).ok()?;
    let payload_bytes = usize::try_from(u32_at(buffer, 8)?).ok()?;
    let control = buffer.get(RECVMSG_OUT_BYTES..RECVMSG_OUT_BYTES + CONTROL_BYTES)?;
    let payload = &buffer[RECVMSG_OUT_BYTES + CONTROL_BYTES..];
    Some(Filled {
        stamps: stamps(&control[..control_bytes.min(CONTROL_BYTES)]),
        bytes: payload_bytes.min(payload.len()),
    })
}

/// The stamps among the control messages.
pub(super) fn stamps(control: &[u8]) -> Raw {
    let Some(times) = times(control) else { return Raw::default() };
    let time = |nth: usize| {
        let seconds = u64_at(times, 16 * nth)?.cast_signed();
        let nanoseconds = u64_at(times, 16 * nth + 8)?.cast_signed();
        // All zero: the kernel has not filled it in.
        (seconds != 0 || nanoseconds != 0).then_some((seconds, nanoseconds))
    };
    Raw { kernel: time(0), card: time(2) }
}

/// The three times of the message that holds them.
fn times(mut control: &[u8]) -> Option<&[u8]> {
    while control.len() >= CMSG_HEADER_BYTES {
        let length = usize::try_from(u64_at(control, 0)?).ok()?;
        let (level, kind) = (u32_at(control, 8)?, u32_at(control, 12)?);
        if length < CMSG_HEADER_BYTES || length > control.len() {
            return None;
        }
        let ours = (level, kind) == (u32::try_from(libc::SOL_SOCKET).ok()?, SCM_TIMESTAMPING);
        if ours && length >= CMSG_HEADER_BYTES + TIMESTAMPING_BYTES {
            return control.get(CMSG_HEADER_BYTES..CMSG_HEADER_BYTES + TIMESTAMPING_BYTES);
        }
        control = control.get(length.next_multiple_of(8)..)?;
    }
    None
}

/// `SCM_TIMESTAMPING` is `SO_TIMESTAMPING` by definition (linux/socket.h).
const SCM_TIMESTAMPING: u32 = libc::SO_TIMESTAMPING.cast_unsigned();

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(control: &[u8], payload: &[u8]) -> Vec<u8> {
        let word = |n: usize| u32::try_from(n).expect("small").to_ne_bytes();
        let mut buffer = Vec::new();
        for n in [0, control.len(), payload.len(), 0] {
            buffer.extend(word(n));
        }
        buffer.extend(control);
        buffer.resize(RECVMSG_OUT_BYTES + CONTROL_BYTES, 0);
        buffer.extend(payload);
        buffer
    }

    fn message(level: u32, kind: u32, data: &[u8]) -> Vec<u8> {
        let mut message = (CMSG_HEADER_BYTES + data.len()).to_ne_bytes().to_vec();
        message.extend(level.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(data);
        message
    }

    fn three(kernel: (i64, i64), card: (i64, i64)) -> Vec<u8> {
        [kernel.0, kernel.1, 0, 0, card.0, card.1].iter().flat_map(|n| n.to_ne_bytes()).collect()
    }

    fn kernel(seconds: i64, nanoseconds: i64) -> Raw {
        Raw { kernel: Some((seconds, nanoseconds)), card: None }
    }

    #[test]
    fn the_kernels_stamp_and_the_bytes_are_found() {
        let times = three((1_700_000_000, 5), (0, 0));
        let buffer = filled(&message(1, SCM_TIMESTAMPING, &times), b"data: x\n\n");
        assert_eq!(read_filled(&buffer), Some(Filled { stamps: kernel(1_700_000_000, 5), bytes: 9 }));
    }

    /// The control message as Linux 6.18 lays it out for a segment over loopback, with the last pair as timestamping.rst lays it
    /// out for a card's stamp (no such card was here): length 64, SOL_SOCKET, SCM_TIMESTAMPING; the kernel's time, an unused
    /// pair, the time of a card that counts TAI.
    const STAMPED_BY_BOTH: [u8; 64] = [
        64, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 37, 0, 0, 0, //
        0x40, 0xfc, 0x64, 0x6a, 0, 0, 0, 0, 0x15, 0xcd, 0x5b, 0x07, 0, 0, 0, 0, //
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
        0x64, 0xfc, 0x64, 0x6a, 0, 0, 0, 0, 0xb1, 0x68, 0xde, 0x3a, 0, 0, 0, 0,
    ];

    #[test]
    #[cfg(target_endian = "little")]
    fn the_cards_stamp_is_found_beside_the_kernels() {
        let read = read_filled(&filled(&STAMPED_BY_BOTH, b"x")).expect("whole");
        assert_eq!(read.stamps.kernel, Some((1_785_003_072, 123_456_789)));
        assert_eq!(read.stamps.card, Some((1_785_003_108, 987_654_321)));
    }

    #[test]
    fn a_card_alone_has_its_stamp_and_the_kernel_none() {
        let buffer = filled(&message(1, SCM_TIMESTAMPING, &three((0, 0), (9, 7))), b"x");
        assert_eq!(read_filled(&buffer).expect("whole").stamps, Raw { kernel: None, card: Some((9, 7)) });
    }

    #[test]
    fn a_read_without_control_message_has_no_stamp() {
        assert_eq!(read_filled(&filled(&[], b"x")), Some(Filled { stamps: Raw::default(), bytes: 1 }));
    }

    #[test]
    fn a_stamp_of_zero_is_none() {
        let buffer = filled(&message(1, SCM_TIMESTAMPING, &three((0, 0), (0, 0))), b"x");
        assert_eq!(read_filled(&buffer).expect("whole").stamps, Raw::default());
    }

    #[test]
    fn other_messages_are_passed_over() {
        let control = message(1, 99, &[0; 4]);
        assert_eq!(read_filled(&filled(&control, b"")), Some(Filled { stamps: Raw::default(), bytes: 0 }));
        let times = three((3, 4), (0, 0));
        assert_eq!(
            stamps(&[message(1, 99, &[0; 8]), message(1, SCM_TIMESTAMPING, &times)].concat()),
            kernel(3, 4)
        );
    }

    #[test]
    fn a_buffer_shorter_than_its_header_is_none() {
        assert_eq!(read_filled(&[0; 79]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_read_outside_the_buffer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(filled) = read_filled(&bytes) {
                prop_assert!(RECVMSG_OUT_BYTES + CONTROL_BYTES + filled.bytes <= bytes.len());
            }
        }
    }
}
