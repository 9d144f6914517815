//! One connection's TLS session, either side's.
//!
//! rustls' buffered interface: its unbuffered one copies as much in this version and needs whole records made contiguous
//! by us (`benches/tls.rs` has both).

use super::Failure;
use super::records::Records;
use rustls::{Connection, HandshakeKind};
use std::io::{BufRead, IoSlice, Write};

/// One session. Its memory: some 10 KB (docs/MEASURED.md), up to 16 KiB more while a record is cut over reads.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    records: Records,
    closed: bool,
    trails: bool,
}

/// How the two sides have agreed to speak.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Spoken {
    /// For example `TLSv1_3`.
    pub version: String,
    /// For example `TLS13_AES_256_GCM_SHA384`.
    pub suite: String,
    /// Whether an earlier session was resumed.
    pub resumed: bool,
}

impl Session {
    pub(super) fn new(mut connection: Connection) -> Self {
        // What is sealed is taken away at once; a limit would cut requests.
        connection.set_buffer_limit(None);
        Self { connection, records: Records::default(), closed: false, trails: false }
    }

    /// Takes what arrived, and hands on what the peer meant by it, in order. Afterwards there may be output.
    ///
    /// # Errors
    /// The peer broke the protocol or cannot be trusted: in rustls' words. The session is over, and its output holds
    /// the alert that tells the peer so. What the peer meant before has been handed on.
    pub fn receive(&mut self, mut bytes: &[u8], hear: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        // Record by record: so it is known whether anything stands behind the last one that meant something.
        while !bytes.is_empty() && !self.closed {
            let (record, rest) = bytes.split_at(self.records.next(bytes));
            bytes = rest;
            let meant = self.receive_record(record, hear)?;
            self.trails = !(meant && self.records.is_between());
        }
        self.trails |= !bytes.is_empty();
        Ok(())
    }

    /// Takes a record or a part of one; the answer is whether it meant anything.
    fn receive_record(&mut self, mut bytes: &[u8], hear: &mut dyn FnMut(&[u8])) -> Result<bool, Failure> {
        let mut meant = false;
        while !bytes.is_empty() {
            // Reading from memory fails only when plaintext was left lying, and none is.
            let taken =
                self.connection.read_tls(&mut bytes).map_err(|error| Failure::words(error.to_string()))?;
            let processed = self.connection.process_new_packets();
            meant |= self.hand_on(hear);
            // The version is agreed upon with the server's first answer.
            let is_greeted = self.connection.protocol_version().is_some();
            let state = processed.map_err(|error| Failure::of(&error, is_greeted))?;
            self.closed |= state.peer_has_closed();
            if taken == 0 {
                // After close_notify nothing is read any more.
                break;
            }
        }
        Ok(meant)
    }

    fn hand_on(&mut self, hear: &mut dyn FnMut(&[u8])) -> bool {
        let mut meant = false;
        let mut reader = self.connection.reader();
        // An error is "no more for now".
        while let Ok(plain) = reader.fill_buf() {
            let length = plain.len();
            if length == 0 {
                break;
            }
            hear(plain);
            reader.consume(length);
            meant = true;
        }
        meant
    }

    /// Seals one message's slices, in as few records as may be; the session must be up.
    pub fn seal(&mut self, slices: &[IoSlice<'_>], into: &mut Vec<u8>) {
        assert!(self.is_up(), "nothing is said before the handshake is over");
        let whole: usize = slices.iter().map(|slice| slice.len()).sum();
        let taken = self.connection.writer().write_vectored(slices).expect("without a limit all is taken");
        assert_eq!(taken, whole, "without a limit all is taken");
        self.output(into);
    }

    /// Moves what the session itself wants sent behind what is in `into`: handshakes, tickets, alerts.
    pub fn output(&mut self, into: &mut Vec<u8>) {
        while self.connection.wants_write() {
            self.connection.write_tls(into).expect("memory takes all");
        }
    }

    /// Tells the peer that no more will come; the notice is in the output.
    pub fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// Whether the handshake is over.
    pub fn is_up(&self) -> bool {
        !self.connection.is_handshaking()
    }

    /// Whether the peer has announced that nothing more will come (close_notify): a FIN without it cuts what was being said.
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the latest [`Session::receive`] went on behind the last record that meant something: with a part of another,
    /// or with a message of the session's own. Then the stamp of what arrived is theirs.
    pub const fn trails(&self) -> bool {
        self.trails
    }

    /// How the two speak, once the handshake is over.
    pub fn spoken(&self) -> Option<Spoken> {
        Some(Spoken {
            version: format!("{:?}", self.connection.protocol_version()?),
            suite: format!("{:?}", self.connection.negotiated_cipher_suite()?.suite()),
            resumed: self.connection.handshake_kind() == Some(HandshakeKind::Resumed),
        })
    }
}
