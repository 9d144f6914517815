//! Undoing of gzip, for servers that compress though told not to. Rare, so it lives in a box.
//!
//! It must not know what it decodes.

use flate2::write::MultiGzDecoder;
use std::io::Write;

/// What one body may expand to, in bytes: more than a stream of 100,000 tokens.
const LARGEST_BODY: u64 = 32 << 20;

/// What any body may expand to, in bytes, however little it came as: no timer fires within a read, and so long a body
/// holds a shard for a millisecond.
const FREE: u64 = 256 << 10;

/// How many times its coded length a body may have beyond that: text is some 3 to 30 times as long as its coding.
const MOST_TIMES: u64 = 64;

/// Steps in a row that may give nothing: each can be a member of its own, which costs a decoder of its own to find empty.
const MOST_IN_VAIN: u32 = 200;

/// The decoder of one body.
pub(super) struct Gunzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    coded: u64,
    expanded: u64,
    in_vain: u32,
    /// A byte has come.
    begun: bool,
}

impl std::fmt::Debug for Gunzip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gunzip").field("expanded", &self.expanded).finish_non_exhaustive()
    }
}

impl Gunzip {
    pub(super) fn new() -> Self {
        Self { decoder: MultiGzDecoder::new(Vec::new()), coded: 0, expanded: 0, in_vain: 0, begun: false }
    }

    /// Decodes the first of `coded`, which moves behind it; the result is what that gave, at most some 64 KiB.
    pub(super) fn decode(&mut self, coded: &mut &[u8]) -> Result<Vec<u8>, &'static str> {
        self.begun |= !coded.is_empty();
        // One write takes what fits its output; the flush brings out what the decoder still holds, so that an
        // event is heard in the read that completed it.
        let taken = self.decoder.write(coded).map_err(|_| CORRUPT)?;
        *coded = &coded[taken..];
        if coded.is_empty() {
            self.decoder.flush().map_err(|_| CORRUPT)?;
        }
        let plain = std::mem::take(self.decoder.get_mut());
        if taken == 0 && plain.is_empty() && !coded.is_empty() {
            return Err(CORRUPT);
        }
        self.coded += taken as u64;
        self.expanded += plain.len() as u64;
        if self.expanded > LARGEST_BODY {
            return Err("the gzip body expands past 32 MiB");
        }
        if self.expanded > FREE + MOST_TIMES * self.coded {
            return Err("the gzip body expands past 256 KiB and 64 times its length");
        }
        // What is left of the read, when a step gives nothing, is another member.
        self.in_vain = if plain.is_empty() && !coded.is_empty() { self.in_vain + 1 } else { 0 };
        if self.in_vain > MOST_IN_VAIN {
            return Err("the gzip body is made of empty parts");
        }
        Ok(plain)
    }

    /// Whether the coded data ended as gzip should, checksum included; or never began, which is an empty body.
    pub(super) fn ended_well(&mut self) -> bool {
        !self.begun || self.decoder.try_finish().is_ok()
    }
}

const CORRUPT: &str = "the gzip body is corrupt";

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};

    fn decode(reads: &[&[u8]]) -> Result<(Vec<u8>, bool), &'static str> {
        let mut gunzip = Gunzip::new();
        let mut plain = Vec::new();
        for mut read in reads.iter().copied() {
            while !read.is_empty() {
                plain.extend(gunzip.decode(&mut read)?);
            }
        }
        Ok((plain, gunzip.ended_well()))
    }

    fn coded(parts: &[&[u8]]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        for part in parts {
            encoder.write_all(part).unwrap();
            encoder.flush().unwrap();
        }
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_flushed_comes_out_at_once() {
        let whole = coded(&[b"data: a\n\n", b"data: b\n\n"]);
        let first_flushed = coded(&[b"data: a\n\n"]);
        let mut gunzip = Gunzip::new();
        // All but the closing block and checksum of the one-part stream is the two-part stream's beginning.
        let common = whole.iter().zip(&first_flushed).take_while(|(a, b)| a == b).count();
        let mut read = &whole[..common];
        let mut plain = Vec::new();
        while !read.is_empty() {
            plain.extend(gunzip.decode(&mut read).unwrap());
        }
        assert_eq!(plain, b"data: a\n\n");
    }

    #[test]
    fn any_cut_gives_the_same_bytes_and_members_are_joined() {
        let text: Vec<u8> = (0..5000_u32).flat_map(|n| n.to_le_bytes()).collect();
        let mut wire = coded(&[&text]);
        wire.extend(coded(&[b"tail"]));
        let expected = [&text[..], b"tail"].concat();
        for cut in (0..wire.len()).step_by(97) {
            assert_eq!(decode(&[&wire[..cut], &wire[cut..]]), Ok((expected.clone(), true)));
        }
        let bytes: Vec<&[u8]> = wire.chunks(1).collect();
        assert_eq!(decode(&bytes), Ok((expected, true)));
    }

    #[test]
    fn cuts_and_corruption_are_told() {
        let wire = coded(&[b"data: a\n\n"]);
        assert!(!decode(&[&wire[..wire.len() - 1]]).unwrap().1);
        assert!(decode(&[b"data: [DONE]\n\n"]).is_err());
        let mut wrong = wire.clone();
        let checksum = wrong.len() - 8;
        wrong[checksum] ^= 1;
        assert!(decode(&[&wrong]).map_or(true, |(_, well)| !well));
    }

    #[test]
    fn a_bomb_is_refused_in_small_pieces() {
        let zeros = vec![0; 8 << 20];
        let bomb = coded(&[&zeros[..]; 5]);
        assert_eq!(refused(&bomb), "the gzip body expands past 256 KiB and 64 times its length");
        let noise = noise(200_000);
        let long = coded(&[&noise[..]; 200]);
        assert_eq!(refused(&long), "the gzip body expands past 32 MiB");
        let nothing = coded(&[]).repeat(20_000);
        assert_eq!(refused(&nothing), "the gzip body is made of empty parts");
    }

    #[test]
    fn a_long_stream_of_like_events_is_no_bomb() {
        let event = format!("data: {}\n\n", "x".repeat(250));
        let flushed = vec![event.as_bytes(); 20_000];
        let (plain, well) = decode(&[&coded(&flushed)]).unwrap();
        assert_eq!((plain.len(), well), (20_000 * event.len(), true));
        // Members of their own, as servers that compress each part write them.
        let members = coded(&[event.as_bytes()]).repeat(5_000);
        assert_eq!(decode(&[&members]).map(|(plain, _)| plain.len()), Ok(5_000 * event.len()));
    }

    fn noise(bytes: u64) -> Vec<u8> {
        (0..bytes).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23).to_le_bytes()[2]).collect()
    }

    fn refused(bomb: &[u8]) -> &'static str {
        let mut gunzip = Gunzip::new();
        let mut read = bomb;
        loop {
            match gunzip.decode(&mut read) {
                Ok(plain) => assert!(plain.len() <= 1 << 20, "one step gave {} bytes", plain.len()),
                Err(why) => break why,
            }
            assert!(!read.is_empty(), "the bomb was decoded whole");
        }
    }
}
