//! What a network card says of its stamps and of its interrupts, and the one switch that is turned on request.
//!
//! It must not know the route: it is told an interface. Layouts: linux/ethtool.h, linux/net_tstamp.h, linux/if.h.
#![allow(unsafe_code, reason = "device controls that no crate has")]

use crate::time::Span;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const SIOCSHWTSTAMP: libc::Ioctl = 0x89b0;
const SIOCGHWTSTAMP: libc::Ioctl = 0x89b1;

const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;

/// `HWTSTAMP_FILTER_NONE` and `HWTSTAMP_FILTER_ALL`: stamps for no packet, for each.
const FILTER_NONE: u32 = 0;
const FILTER_ALL: u32 = 1;

/// `struct ethtool_ts_info`: command, capabilities, clock, kinds sent, 3 unused, filters, 3 unused.
type TsInfo = [u32; 11];
/// `struct ethtool_coalesce`: command, microseconds a packet may wait for its interrupt, and 21 more.
type Coalesce = [u32; 23];
/// `struct hwtstamp_config`: flags, kinds sent, filter.
type Config = [u32; 3];

/// `struct ifreq`: a name and a pointer, in 40 bytes.
#[repr(C)]
struct Request {
    name: [u8; 16],
    data: *mut libc::c_void,
    rest: [u8; 16],
}

const _: () = assert!(size_of::<Request>() == 40);

/// What a card can stamp.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct CardStamps {
    /// It can stamp every packet that it receives.
    pub able: bool,
    /// It does so now; `None` = it does not say.
    pub enabled: Option<bool>,
    /// The number of its clock (`/dev/ptp0`); `None` = it has none that can be read.
    pub clock: Option<u32>,
}

/// A card, by its interface.
#[derive(Debug)]
pub struct Card {
    socket: OwnedFd,
    name: [u8; 16],
}

impl Card {
    /// The card of `interface`.
    ///
    /// # Errors
    /// No socket is to be had, or the name is none of an interface.
    pub fn of(interface: &str) -> Result<Self, Errno> {
        let mut name = [0; 16];
        // The last byte stays 0: the kernel reads a text.
        let room = name.get_mut(..interface.len()).filter(|room| room.len() < 16).ok_or(Errno::INVAL)?;
        room.copy_from_slice(interface.as_bytes());
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket, name })
    }

    /// How long it may hold a received packet back before it interrupts a CPU (`rx-usecs`).
    ///
    /// # Errors
    /// The card does not say (loopback, virtual cards).
    pub fn moderation(&self) -> Result<Span, Errno> {
        let mut coalesce: Coalesce = [0; 23];
        coalesce[0] = ETHTOOL_GCOALESCE;
        self.ask(SIOCETHTOOL, &mut coalesce)?;
        Ok(Span::from_us(i64::from(coalesce[1])))
    }

    /// What it can stamp, and whether it does.
    ///
    /// # Errors
    /// The card does not say.
    pub fn stamps(&self) -> Result<CardStamps, Errno> {
        let mut info: TsInfo = [0; 11];
        info[0] = ETHTOOL_GET_TS_INFO;
        self.ask(SIOCETHTOOL, &mut info)?;
        let mut config: Config = [0; 3];
        let config = self.ask(SIOCGHWTSTAMP, &mut config).map(|()| config);
        Ok(told(&info, config.ok()))
    }

    /// Has it stamp every packet it receives (`enabled`), or none. It needs CAP_NET_ADMIN.
    ///
    /// # Errors
    /// The card cannot, or we may not.
    pub fn set_stamps(&self, enabled: bool) -> Result<(), Errno> {
        let mut config: Config = [0, 0, if enabled { FILTER_ALL } else { FILTER_NONE }];
        self.ask(SIOCSHWTSTAMP, &mut config)?;
        // A card may stamp more than it was asked to, and fewer only by an error.
        Ok(())
    }

    fn ask<const WORDS: usize>(&self, question: libc::Ioctl, words: &mut [u32; WORDS]) -> Result<(), Errno> {
        let mut request = Request { name: self.name, data: words.as_mut_ptr().cast(), rest: [0; 16] };
        // SAFETY: each question reads and writes the structure of its own, whose whole size the words have (the types
        // above), and an ifreq around it.
        let status = unsafe { libc::ioctl(self.socket.as_raw_fd(), question, &raw mut request) };
        if status >= 0 {
            Ok(())
        } else {
            Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
        }
    }
}

/// What the two answers mean.
fn told(info: &TsInfo, config: Option<Config>) -> CardStamps {
    let wanted = libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
    CardStamps {
        able: info[1] & wanted == wanted && info[7] & (1 << FILTER_ALL) != 0,
        enabled: config.map(|config| config[2] == FILTER_ALL),
        // All ones: no clock.
        clock: Some(info[2]).filter(|clock| *clock != u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_card_answers_is_read() {
        // An Intel i210 as `ethtool -T` tells it: every capability, clock 0, filters none, all and some of PTP.
        let i210: TsInfo = [0x41, 0x5f, 0, 0x3, 0, 0, 0, 0x1003, 0, 0, 0];
        let off = CardStamps { able: true, enabled: Some(false), clock: Some(0) };
        assert_eq!(told(&i210, Some([0, 0, FILTER_NONE])), off);
        assert_eq!(told(&i210, Some([0, 1, FILTER_ALL])).enabled, Some(true));
        assert_eq!(told(&i210, None).enabled, None);
        // A card that stamps PTP only, and a virtual one that stamps in software only.
        let ptp_only: TsInfo = [0x41, 0x5f, 2, 0x3, 0, 0, 0, 0x1000, 0, 0, 0];
        assert!(!told(&ptp_only, None).able);
        let software: TsInfo = [0x41, 0x18, u32::MAX, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(told(&software, None), CardStamps { able: false, enabled: None, clock: None });
    }

    #[test]
    fn loopback_holds_nothing_back_and_stamps_nothing() {
        let lo = Card::of("lo").unwrap();
        assert!(lo.moderation().is_err());
        assert!(lo.stamps().is_ok_and(|stamps| !stamps.able && stamps.clock.is_none()));
        assert!(lo.set_stamps(true).is_err());
    }

    #[test]
    fn a_name_that_no_interface_has_is_an_error() {
        assert!(Card::of("a-name-that-is-too-long").is_err());
        assert!(Card::of("no-such-card").is_ok_and(|card| card.stamps().is_err()));
    }
}
