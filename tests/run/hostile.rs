//! Servers that mean no good, over real sockets: what they hold back costs us a bounded wait and its own class.

use crate::program::{Folder, run, text};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// A server that answers the first request of each connection with `answer`, and then neither sends nor closes.
fn server(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut held: Vec<TcpStream> = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 65_536];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer.as_bytes());
            held.push(stream);
        }
    });
    format!("http://{address}")
}

#[test]
fn a_refusal_whose_body_never_ends_gives_its_slot_back_long_before_the_timeout() {
    let url = server("HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\n{\"error\":{\"message\":\"out of mem");
    let folder = Folder::new();
    // Were they held to the timeout, this would take half an hour.
    let output = run(
        &folder,
        &format!(
            "--url {url} --model m --no-probe --no-preconnect --concurrency 1 --requests 3 --timeout 600s"
        ),
    );
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert_eq!(folder.summary()["errors"]["http_5xx"], 3);
    for row in folder.rows() {
        assert!(row["detail"].as_str().unwrap().contains("out of mem"), "{row}");
    }
}
