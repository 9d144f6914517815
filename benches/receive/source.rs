//! The source: accepts, waits for the word, writes events at a set rate, and hangs up.

use crate::{EVENT_BYTES, Load};
use lowrho::clock;
use lowrho::time::Span;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

pub(crate) struct Source {
    pub(crate) address: SocketAddr,
    go: Sender<()>,
    thread: JoinHandle<()>,
}

impl Source {
    /// Listens for the load's connections.
    pub(crate) fn start(load: &Load) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
        // With a short backlog the kernel forgets connections whose peers believe in them.
        rustix::net::listen(&listener, 4096).expect("a longer backlog");
        let address = listener.local_addr().expect("bound");
        let (go, wait) = channel();
        let load = *load;
        let thread = std::thread::spawn(move || run(&load, &listener, &wait));
        Self { address, go, thread }
    }

    /// Begins to write.
    pub(crate) fn go(&self) {
        self.go.send(()).expect("the source waits");
    }

    /// Lets it hang up, now that all is read.
    pub(crate) fn join(self) {
        drop(self.go);
        self.thread.join().expect("the source has written all");
    }
}

fn run(load: &Load, listener: &TcpListener, wait: &Receiver<()>) {
    assert!(
        core_affinity::set_for_current(core_affinity::CoreId { id: load.source_cpu }),
        "the source's cpu"
    );
    let mut streams: Vec<TcpStream> =
        (0..load.connections).map(|_| listener.accept().expect("a connection").0).collect();
    streams.iter().for_each(|stream| stream.set_nodelay(true).expect("nodelay"));
    wait.recv().expect("the reader gives the word");
    let event = event();
    let begun = clock::now();
    for index in 0..load.events {
        let due =
            Span::from_ns(i64::try_from(index * 1_000_000_000 / load.rate_per_s).expect("a bench is short"));
        while clock::now() - begun < due {
            std::hint::spin_loop();
        }
        let stream = usize::try_from(index).expect("a count") % streams.len();
        streams[stream].write_all(&event).expect("the reader reads");
    }
    wait.recv().expect_err("the reader hangs up first: a FIN among the last events would be counted as work");
}

/// One token as vLLM sends it, an HTTP chunk of its own.
fn event() -> [u8; EVENT_BYTES] {
    let data = |model: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-9ca064d78f53d9dc\",\"object\":\"chat.completion.chunk\",\"created\":1795969892,\
             \"model\":\"{model}\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" came\"}},\"logprobs\":null,\
             \"finish_reason\":null,\"token_ids\":null}}]}}\n\n"
        )
    };
    // Two digits of length, two line ends: six bytes around the data.
    let length = EVENT_BYTES - 6;
    let data = data(&"m".repeat(length - data("").len()));
    let chunk = format!("{length:x}\r\n{data}\r\n");
    chunk.into_bytes().try_into().expect("the model's name fills it up")
}
