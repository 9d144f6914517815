//! A plain blocking client whose answers are read by lowrho's own reader of responses.

use lowrho::wire::{Api, Bears, Closed, ErrorClass, Expect, Heard, Progress, Reply, Response};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than any answer here takes, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// One connection.
pub struct Client {
    stream: TcpStream,
    reused: bool,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The reader's verdict.
    pub reply: Reply,
    /// Token-bearing deltas.
    pub tokens: usize,
    /// Every byte.
    pub text: String,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the simulator listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        Self { stream, reused: false }
    }

    /// A chat of `tokens` tokens; `more` is further JSON.
    pub fn chat(&mut self, tokens: u32, more: &str) -> Answer {
        let request = chat_request("run-1", tokens, more);
        self.exchange(&request, Response::new(self.expect(Api::Chat)))
    }

    /// A completion whose body is given whole.
    pub fn completion(&mut self, body: &str) -> Answer {
        let request = post("/v1/completions", "run-1", body);
        let expect = self.expect(Api::Completions);
        let unary = !body.contains("\"stream\":true");
        self.exchange(&request, if unary { Response::unary(expect) } else { Response::new(expect) })
    }

    /// A GET.
    pub fn get(&mut self, path: &str) -> Answer {
        let request = format!("GET {path} HTTP/1.1\r\nhost: sim\r\n\r\n");
        self.exchange(&request, Response::unary(self.expect(Api::Chat)))
    }

    /// Sends bytes and reads nothing.
    pub fn send(&mut self, bytes: &str) {
        self.stream.write_all(bytes.as_bytes()).expect("the simulator reads");
    }

    pub fn expect(&self, api: Api) -> Expect {
        Expect { api, choices: 1, reused: self.reused }
    }

    /// Reads one answer whose request was sent.
    pub fn hear(&mut self, mut response: Response) -> Answer {
        let (mut tokens, mut text) = (0, Vec::new());
        let mut buffer = [0; 4096];
        let mut hear = |heard: Heard| {
            if matches!(heard, Heard::Delta(delta) if delta.bears == Bears::Token) {
                tokens += 1;
            }
        };
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => response.closed(Closed::Fin, &mut hear),
                Ok(n) => {
                    text.extend_from_slice(&buffer[..n]);
                    if response.read(&buffer[..n], &mut hear) != Progress::Over {
                        continue;
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    response.closed(Closed::TimedOut(ErrorClass::TimeoutTotal), &mut hear);
                }
                Err(_) => response.closed(Closed::Reset, &mut hear),
            }
            self.reused = true;
            let text = String::from_utf8(text).expect("the simulator speaks UTF-8");
            return Answer { reply: response.reply(), tokens, text };
        }
    }

    /// Whether the connection has ended without another byte.
    pub fn is_at_its_end(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 1]), Ok(0))
    }

    /// Waits no longer than this for the next bytes.
    pub fn patience(&self, ms: u64) {
        self.stream.set_read_timeout(Some(Duration::from_millis(ms))).expect("a time-out");
    }

    fn exchange(&mut self, request: &str, response: Response) -> Answer {
        // A server that closes while we send is heard in the answer.
        let _ = self.stream.write_all(request.as_bytes());
        self.hear(response)
    }
}

impl Answer {
    /// The body of a whole reply.
    pub fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").expect("a head").1
    }
}

pub fn chat_request(id: &str, tokens: u32, more: &str) -> String {
    let body = format!(
        r#"{{"model":"tiny","messages":[{{"role":"user","content":"how low?"}}],"stream":true,"max_tokens":{tokens}{more}}}"#
    );
    post("/v1/chat/completions", id, &body)
}

fn post(path: &str, id: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: sim\r\nx-request-id: {id}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
