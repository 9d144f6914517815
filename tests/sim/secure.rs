//! The simulator over TLS, heard by rustls' own blocking stream.

use super::client::chat_request;
use lowrho::sim::{Sim, SimConfig, SimHandle};
use lowrho::tls::{ServerSide, certificates, self_made};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

type Stream = StreamOwned<ClientConnection, TcpStream>;

struct Secure {
    sim: SimHandle,
    config: Arc<ClientConfig>,
}

impl Secure {
    fn start() -> Self {
        let made = self_made(&["localhost"]).unwrap();
        let secure = ServerSide::new(made.identity().unwrap(), None).unwrap();
        let config =
            SimConfig { secure: Some(secure), script: super::script("0s", "0s"), ..SimConfig::default() };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(made.certificate.as_bytes()).unwrap() {
            roots.add(certificate).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { sim: Sim::start(&config).unwrap(), config: Arc::new(client) }
    }

    fn connect(&self) -> Stream {
        let tcp = TcpStream::connect(self.sim.address()).unwrap();
        tcp.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        StreamOwned::new(ClientConnection::new(Arc::clone(&self.config), name).unwrap(), tcp)
    }
}

/// Reads until the text ends with that.
fn read_until(stream: &mut Stream, end: &str) -> String {
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while !text.ends_with(end) {
        let n = stream.read(&mut buffer).expect("the simulator goes on");
        assert!(n > 0, "it ended after {text:?}");
        text.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
    }
    text
}

#[test]
fn answers_stream_over_tls_and_the_connection_is_kept() {
    let secure = Secure::start();
    let mut stream = secure.connect();
    for id in ["first", "second"] {
        stream.write_all(chat_request(id, 3, "").as_bytes()).unwrap();
        let text = read_until(&mut stream, "0\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        assert!(text.contains("[DONE]"), "{text}");
    }
    assert_eq!(secure.sim.join().requests(), 2);
}

#[test]
fn an_end_is_announced() {
    let secure = Secure::start();
    let mut stream = secure.connect();
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = Vec::new();
    // An end without close_notify is an error to rustls.
    stream.read_to_end(&mut text).expect("the end was announced");
    assert!(text.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn who_speaks_no_tls_is_sent_away_and_others_are_served() {
    let secure = Secure::start();
    let mut plain = TcpStream::connect(secure.sim.address()).unwrap();
    plain.write_all(b"GET /health HTTP/1.1\r\nhost: sim\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    plain.read_to_end(&mut answer).expect("it is closed");
    assert_eq!(answer.first(), Some(&21), "an alert: {answer:?}");
    let mut stream = secure.connect();
    stream.write_all(chat_request("third", 1, "").as_bytes()).unwrap();
    assert!(read_until(&mut stream, "0\r\n\r\n").contains("[DONE]"));
}
