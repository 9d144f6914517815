//! Servers that TLS cannot be had with: each has its class, and the words of whoever refused.

use crate::ALONE;
use crate::case::Case;
use crate::client;
use crate::one;
use crate::secure::{NAME, Secure};
use crate::server::{self, Manner};
use lowrho::plan::Engine;
use lowrho::record::Record;
use lowrho::tls::{ClientSide, Peer, SelfMade, Trust, self_made};
use lowrho::wire::ErrorClass;
use rustls::ServerConfig;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The record of one request to `address`.
fn asked(case: &Case, address: SocketAddr, peer: Peer) -> Record {
    let mut records = client::drive(case, address, Some(peer), Engine::Uring);
    assert_eq!(records.len(), 1);
    records.remove(0)
}

fn refused(address: SocketAddr, peer: Peer) -> (ErrorClass, String) {
    let record = asked(&one("S01"), address, peer);
    assert_eq!((record.status, record.bytes), (None, 0), "{record:?}");
    assert!(record.over >= record.begun.unwrap());
    (record.error.unwrap(), record.detail.unwrap_or_default().into())
}

fn secured(config: Arc<ServerConfig>) -> SocketAddr {
    server::start(one("S01"), Manner::Sealed(config))
}

/// A server that does so with each connection.
fn other(serve: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().take(3).flatten().for_each(serve));
    address
}

#[test]
fn a_server_that_speaks_plain_http_is_told_by_its_bytes() {
    let _alone = ALONE.lock();
    let plain = other(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        let _ = stream.read(&mut [0; 4096]);
    });
    let (class, detail) = refused(plain, Secure::new().peer());
    assert_eq!(class, ErrorClass::Tls);
    assert!(detail.contains("InvalidContentType"), "{detail}");
}

#[test]
fn a_certificate_of_nobody_we_trust_is_refused() {
    let _alone = ALONE.lock();
    let (server, other) = (Secure::new(), Secure::new());
    let (class, detail) = refused(secured(server.server()), other.peer());
    assert_eq!(class, ErrorClass::Tls);
    assert!(detail.contains("UnknownIssuer") || detail.contains("BadSignature"), "{detail}");
    let anyone = Peer::new(ClientSide::new(Trust::Anyone, None).unwrap(), NAME).unwrap();
    assert_eq!(asked(&one("S01"), secured(server.server()), anyone).error, None);
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let _alone = ALONE.lock();
    let server = Secure::of(self_made(&["example.org"]).unwrap(), None);
    let (class, detail) = refused(secured(server.server()), server.peer());
    assert_eq!(class, ErrorClass::Tls);
    assert!(detail.contains("not valid for name"), "{detail}");
}

#[test]
fn a_certificate_that_has_expired_is_refused() {
    let _alone = ALONE.lock();
    let mut asked = rcgen::CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    asked.not_before = rcgen::date_time_ymd(2001, 1, 1);
    asked.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let made = SelfMade { certificate: asked.self_signed(&key).unwrap().pem(), key: key.serialize_pem() };
    let server = Secure::of(made, None);
    let (class, detail) = refused(secured(server.server()), server.peer());
    assert_eq!(class, ErrorClass::Tls);
    assert!(detail.contains("expired"), "{detail}");
}

#[test]
fn a_server_without_http_1_is_refused_in_its_own_words() {
    let _alone = ALONE.lock();
    let server = Secure::new();
    let mut config = ServerConfig::clone(&server.server());
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (class, detail) = refused(secured(Arc::new(config)), server.peer());
    assert_eq!(class, ErrorClass::Tls);
    assert!(detail.contains("NoApplicationProtocol"), "{detail}");
}

#[test]
fn a_server_that_wants_to_know_its_clients_serves_those_it_knows() {
    let _alone = ALONE.lock();
    let (known, unknown) = (self_made(&["a client"]).unwrap(), self_made(&["another"]).unwrap());
    let server = Secure::wanting(&known);
    assert_eq!(asked(&one("S01"), secured(server.server()), server.peer_of(&known)).error, None);
    for peer in [server.peer(), server.peer_of(&unknown)] {
        let (class, detail) = refused(secured(server.server()), peer);
        assert_eq!(class, ErrorClass::Tls, "{detail}");
        assert!(detail.contains("alert"), "{detail}");
    }
}

#[test]
fn a_server_that_hangs_up_on_a_handshake_or_says_nothing_has_its_class() {
    let _alone = ALONE.lock();
    let (class, detail) = refused(
        other(|mut stream| {
            let _ = stream.read(&mut [0; 4096]);
        }),
        Secure::new().peer(),
    );
    assert_eq!(class, ErrorClass::Tls);
    assert!(detail.contains("in the middle of the TLS handshake"), "{detail}");
    let silent =
        other(|stream| thread::sleep(Duration::from_secs(if stream.peer_addr().is_ok() { 2 } else { 0 })));
    let mut case = one("S01");
    case.expect.error_class = Some("timeout_connect".into());
    let record = asked(&case, silent, Secure::new().peer());
    assert_eq!(record.error, Some(ErrorClass::TimeoutConnect));
    assert!(record.detail.unwrap().contains("TLS handshake"));
    assert_eq!((record.sent, record.connected, record.handshake), (None, None, None));
}

#[test]
fn a_handshake_is_a_part_of_connecting_and_before_the_sending() {
    let _alone = ALONE.lock();
    let server = Secure::new();
    let record = asked(&one("S01"), secured(server.server()), server.peer());
    let (begun, connected, sent) = (record.begun.unwrap(), record.connected.unwrap(), record.sent.unwrap());
    let handshake = record.handshake.unwrap();
    assert!(begun <= connected && connected <= sent && sent <= record.head.unwrap(), "{record:?}");
    assert!(handshake.as_ns() > 0 && handshake <= connected - begun, "{handshake:?}");
    let plain =
        client::drive(&one("S01"), server::start(one("S01"), Manner::Clear), None, Engine::Uring).remove(0);
    assert!(plain.connected.is_some() && plain.handshake.is_none());
}
