//! Where one record ends and the next begins, by their five-byte heads (RFC 8446, 5.1).
//!
//! It must not judge what it sees: what is no TLS is rustls' to refuse.

/// Type, version (two bytes), length (two bytes).
const HEAD: usize = 5;

/// A place in a stream of records.
#[derive(Clone, Default, Debug)]
pub(super) struct Records {
    head: [u8; HEAD],
    /// Bytes of the head that have come.
    come: usize,
    /// Bytes of the body that have not.
    left: usize,
}

impl Records {
    /// How many of these bytes belong to the record that is going on: to its end, or all of them.
    pub(super) fn next(&mut self, bytes: &[u8]) -> usize {
        if self.is_between() {
            self.come = 0;
        }
        let of_head = bytes.len().min(HEAD - self.come);
        if of_head > 0 {
            self.head[self.come..self.come + of_head].copy_from_slice(&bytes[..of_head]);
            self.come += of_head;
            if self.come < HEAD {
                return of_head;
            }
            self.left = usize::from(u16::from_be_bytes([self.head[3], self.head[4]]));
        }
        let of_body = (bytes.len() - of_head).min(self.left);
        self.left -= of_body;
        of_head + of_body
    }

    /// Whether the last byte ended a record.
    pub(super) const fn is_between(&self) -> bool {
        self.come == HEAD && self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The lengths of the pieces, and after which of them a record had ended.
    fn pieces(reads: &[&[u8]]) -> Vec<(usize, bool)> {
        let mut records = Records::default();
        let mut pieces = Vec::new();
        for read in reads {
            let mut left = *read;
            while !left.is_empty() {
                let length = records.next(left);
                left = &left[length..];
                pieces.push((length, records.is_between()));
            }
        }
        pieces
    }

    #[test]
    fn two_records_in_one_read_are_told_apart() {
        let wire = [23, 3, 3, 0, 2, 7, 7, 23, 3, 3, 0, 0, 23, 3];
        assert_eq!(pieces(&[&wire]), [(7, true), (5, true), (2, false)]);
        assert_eq!(pieces(&[&wire[..3], &wire[3..6], &wire[6..7]]), [(3, false), (3, false), (1, true)]);
    }

    proptest! {
        #[test]
        fn records_end_where_they_end_however_they_are_cut(
            lengths in prop::collection::vec(0_u16..300, 1..8),
            cuts in prop::collection::vec(1_usize..40, 1..20),
        ) {
            let (mut wire, mut ends) = (Vec::new(), Vec::new());
            for length in lengths {
                let [high, low] = length.to_be_bytes();
                wire.extend_from_slice(&[23, 3, 3, high, low]);
                wire.resize(wire.len() + usize::from(length), 0);
                ends.push(wire.len());
            }
            let (mut left, mut reads) = (wire.as_slice(), Vec::new());
            for cut in cuts.iter().cycle() {
                let (now, later) = left.split_at((*cut).min(left.len()));
                reads.push(now);
                left = later;
                if left.is_empty() { break; }
            }
            let (mut at, mut found) = (0, Vec::new());
            for (length, ended) in pieces(&reads) {
                at += length;
                if ended { found.push(at); }
            }
            prop_assert_eq!(found, ends);
        }
    }
}
