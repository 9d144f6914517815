//! A case sealed by TLS comes out as in the clear, wherever reads cut its records.

use crate::case::{Case, all};
use crate::replay::{Seen, closing, expect, play};
use lowrho::tls::{ClientSide, PeerName, ServerSide, Session, Trust, certificates, self_made};
use std::io::IoSlice;

const NAME: &str = "localhost";

/// Two sides that trust each other.
struct Sides(ClientSide, ServerSide);

impl Sides {
    fn new() -> Self {
        let made = self_made(&[NAME]).expect("a name");
        let roots = certificates(made.certificate.as_bytes()).expect("our own");
        let server = ServerSide::new(made.identity().expect("our own"), None).expect("our own");
        Self(ClientSide::new(Trust::Roots(roots), None).expect("our own"), server)
    }

    /// A session that is up, client's end first.
    fn sessions(&self) -> (Session, Session) {
        let (mut client, mut server) =
            (self.0.session(&PeerName::new(NAME).expect("a name")), self.1.session());
        for _ in 0..3 {
            carry(&mut client, &mut server);
            carry(&mut server, &mut client);
        }
        assert!(client.is_up() && server.is_up());
        (client, server)
    }
}

fn carry(from: &mut Session, to: &mut Session) {
    let mut wire = Vec::new();
    from.output(&mut wire);
    to.receive(&wire, &mut |_| ()).expect("a handshake");
}

/// The records of the case's segments, and the session that opens them.
fn sealed(sides: &Sides, case: &Case) -> (Session, Vec<u8>) {
    let (client, mut server) = sides.sessions();
    let mut wire = Vec::new();
    case.segments.iter().for_each(|segment| server.seal(&[IoSlice::new(segment)], &mut wire));
    (client, wire)
}

/// What comes of the case when its records arrive in these reads; what one read means is handed on once.
fn seen<'a>(case: &Case, client: &mut Session, reads: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let mut plains = Vec::new();
    for read in reads {
        let mut plain = Vec::new();
        client.receive(read, &mut |meant| plain.extend_from_slice(meant)).expect("records of its peer");
        plains.extend((!plain.is_empty()).then_some(plain));
    }
    play(expect(case), plains.iter().map(Vec::as_slice), closing(case))
}

#[test]
fn a_case_cut_at_every_byte_of_its_records_comes_out_the_same() {
    let sides = Sides::new();
    let case = all().into_iter().find(|case| case.id == "T03").expect("a case of TLS");
    let clear = play(expect(&case), case.segments.iter().map(Vec::as_slice), closing(&case));
    assert_eq!((clear.reply.error, clear.text.as_str()), (None, "AB"));
    let whole = sealed(&sides, &case).1.len();
    assert!(whole > 500, "{whole} bytes");
    for cut in 0..=whole {
        let (mut client, wire) = sealed(&sides, &case);
        let (before, after) = wire.split_at(cut);
        assert_eq!(seen(&case, &mut client, [before, after]), clear, "cut at {cut}");
    }
    let (mut client, wire) = sealed(&sides, &case);
    assert_eq!(seen(&case, &mut client, wire.chunks(1)), clear, "byte by byte");
}
