//! Two sessions in one memory: what is sealed on one side is meant on the other, however the bytes are cut.

use super::*;
use proptest::prelude::*;
use std::io::IoSlice;

const NAME: &str = "localhost";

fn sides(trust: impl Fn(&SelfMade) -> Trust) -> (ClientSide, ServerSide) {
    let made = self_made(&[NAME, "127.0.0.1"]).unwrap();
    let server = ServerSide::new(made.identity().unwrap(), None).unwrap();
    (ClientSide::new(trust(&made), None).unwrap(), server)
}

fn roots(made: &SelfMade) -> Trust {
    Trust::Roots(certificates(made.certificate.as_bytes()).unwrap())
}

/// Moves all that `from` wants sent to `to`; gives what it meant.
fn carry(from: &mut Session, to: &mut Session) -> Result<Vec<u8>, Failure> {
    let (mut wire, mut meant) = (Vec::new(), Vec::new());
    from.output(&mut wire);
    to.receive(&wire, &mut |plain| meant.extend_from_slice(plain))?;
    Ok(meant)
}

fn shake_hands(client: &mut Session, server: &mut Session) -> Result<(), Failure> {
    for _ in 0..4 {
        carry(client, server)?;
        carry(server, client)?;
    }
    Ok(())
}

fn pair(client: &ClientSide, server: &ServerSide) -> (Session, Session) {
    let name = PeerName::new(NAME).unwrap();
    let (mut client, mut server) = (client.session(&name), server.session());
    shake_hands(&mut client, &mut server).unwrap();
    assert!(client.is_up() && server.is_up());
    (client, server)
}

fn sealed(session: &mut Session, text: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    session.seal(&[IoSlice::new(text)], &mut wire);
    wire
}

#[test]
fn a_session_comes_up_and_says_how_it_speaks() {
    let (client, server) = sides(roots);
    let (client, _) = pair(&client, &server);
    let spoken = client.spoken().unwrap();
    assert_eq!((spoken.version.as_str(), spoken.resumed), ("TLSv1_3", false));
}

#[test]
fn the_second_session_resumes_the_first() {
    let (client, server) = sides(roots);
    pair(&client, &server);
    let (second, _) = pair(&client, &server);
    assert!(second.spoken().unwrap().resumed);
}

#[test]
fn slices_of_one_message_become_one_record() {
    let (client, server) = sides(roots);
    let (mut client, mut server) = pair(&client, &server);
    let mut wire = Vec::new();
    client.seal(&[IoSlice::new(b"POST / "), IoSlice::new(b"HTTP/1.1\r\n"), IoSlice::new(b"\r\n")], &mut wire);
    let mut meant = Vec::new();
    server.receive(&wire, &mut |plain| meant.push(plain.to_vec())).unwrap();
    assert_eq!(meant, [b"POST / HTTP/1.1\r\n\r\n"]);
}

#[test]
fn a_message_longer_than_a_record_arrives_whole() {
    let (client, server) = sides(roots);
    let (mut client, mut server) = pair(&client, &server);
    let long: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let wire = sealed(&mut client, &long);
    let mut meant = Vec::new();
    server.receive(&wire, &mut |plain| meant.extend_from_slice(plain)).unwrap();
    assert!(meant == long, "{} bytes of {}", meant.len(), long.len());
}

#[test]
fn a_server_that_nobody_vouches_for_is_refused_and_told_so() {
    let stranger = self_made(&[NAME]).unwrap();
    let (client, server) = sides(|_| roots(&stranger));
    let (mut client, mut server) = (client.session(&PeerName::new(NAME).unwrap()), server.session());
    let refused = shake_hands(&mut client, &mut server).unwrap_err().to_string();
    assert!(refused.contains("certificate"), "{refused}");
    assert!(carry(&mut client, &mut server).unwrap_err().to_string().contains("alert"));
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let (client, server) = sides(roots);
    let (mut client, mut server) = (client.session(&PeerName::new("example.org").unwrap()), server.session());
    let refused = shake_hands(&mut client, &mut server).unwrap_err().to_string();
    assert!(refused.contains("not valid for name"), "{refused}");
}

#[test]
fn whoever_believes_anyone_speaks_to_strangers() {
    let (client, server) = sides(|_| Trust::Anyone);
    pair(&client, &server);
}

#[test]
fn a_server_may_want_to_know_its_clients() {
    let (servers, clients) = (self_made(&[NAME]).unwrap(), self_made(&["a client"]).unwrap());
    let known = certificates(clients.certificate.as_bytes()).unwrap();
    let server = ServerSide::new(servers.identity().unwrap(), Some(known)).unwrap();
    let known = ClientSide::new(roots(&servers), Some(clients.identity().unwrap())).unwrap();
    pair(&known, &server);
    let unknown = ClientSide::new(roots(&servers), None).unwrap();
    let (mut client, mut server) = (unknown.session(&PeerName::new(NAME).unwrap()), server.session());
    assert!(shake_hands(&mut client, &mut server).is_err());
}

#[test]
fn what_is_no_tls_at_all_is_an_error_in_words() {
    let (client, _) = sides(roots);
    let mut client = client.session(&PeerName::new(NAME).unwrap());
    let error = client.receive(b"HTTP/1.1 400 Bad Request\r\n\r\n", &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("corrupt") && error.remedy().contains("http://"), "{error}");
}

#[test]
fn an_announced_end_is_told_apart() {
    let (client, server) = sides(roots);
    let (mut client, mut server) = pair(&client, &server);
    assert!(!client.is_closed());
    server.close();
    carry(&mut server, &mut client).unwrap();
    assert!(client.is_closed());
}

#[test]
fn what_stands_behind_the_last_record_that_meant_something_is_noticed() {
    let (client, server) = sides(roots);
    let (mut client, mut server) = pair(&client, &server);
    let (one, two) = (sealed(&mut server, b"one"), sealed(&mut server, b"two"));
    let mut receive = |wire: &[u8]| {
        let mut meant = Vec::new();
        client.receive(wire, &mut |plain| meant.extend_from_slice(plain)).unwrap();
        (String::from_utf8(meant).unwrap(), client.trails())
    };
    let (begun, rest) = two.split_at(3);
    assert_eq!(receive(&[&one, begun].concat()), ("one".into(), true), "a part of another record");
    assert_eq!(receive(rest), ("two".into(), false));
    let both = [sealed(&mut server, b"three"), sealed(&mut server, b"four")].concat();
    assert_eq!(receive(&both), ("threefour".into(), false));
    let mut last = sealed(&mut server, b"five");
    server.close();
    server.output(&mut last);
    assert_eq!(receive(&last), ("five".into(), true), "a word of the session's own");
}

#[test]
fn whoever_works_alone_begins_without_tickets_and_keeps_its_own() {
    let made = self_made(&[NAME]).unwrap();
    let server = ServerSide::new(made.identity().unwrap(), None).unwrap();
    let peer = Peer::new(ClientSide::new(roots(&made), None).unwrap(), NAME).unwrap();
    let resumed = |peer: &Peer| {
        let (mut client, mut server) = (peer.session(), server.session());
        shake_hands(&mut client, &mut server).unwrap();
        client.spoken().unwrap().resumed
    };
    assert_eq!((resumed(&peer), resumed(&peer)), (false, true));
    let alone = peer.alone();
    assert_eq!((resumed(&alone), resumed(&alone)), (false, true));
}

#[test]
fn mistakes_name_what_is_missing() {
    let made = self_made(&[NAME]).unwrap();
    let (certificate, key) = (made.certificate.as_bytes(), made.key.as_bytes());
    assert!(certificates(b"nothing").unwrap_err().to_string().contains("BEGIN CERTIFICATE"));
    assert!(Identity::from_pem(certificate, certificate).unwrap_err().to_string().contains("private key"));
    let other = self_made(&[NAME]).unwrap();
    let crossed = Identity::from_pem(certificate, other.key.as_bytes()).unwrap();
    assert!(ServerSide::new(crossed, None).unwrap_err().to_string().contains("server's certificate"));
    assert!(Identity::from_pem(certificate, key).is_ok());
    assert!(ClientSide::new(Trust::Roots(Vec::new()), None).unwrap_err().to_string().contains("--ca-cert"));
    assert!(PeerName::new("not a name").is_err());
    assert!(PeerName::new("::1").is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn however_records_are_cut_the_meaning_is_the_same(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 1..12),
        cuts in prop::collection::vec(1_usize..700, 1..40),
    ) {
        let (client, server) = sides(roots);
        let (mut client, mut server) = pair(&client, &server);
        let wire: Vec<u8> = messages.iter().flat_map(|message| sealed(&mut server, message)).collect();
        let (mut left, mut meant) = (wire.as_slice(), Vec::new());
        for cut in cuts.iter().cycle() {
            let (now, later) = left.split_at((*cut).min(left.len()));
            client.receive(now, &mut |plain| meant.extend_from_slice(plain)).unwrap();
            left = later;
            if left.is_empty() { break; }
        }
        prop_assert_eq!(meant, messages.concat());
    }
}
