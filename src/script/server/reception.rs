//! What a request is to get: its route, its length, its fault; or why it gets an error.
//!
//! It must not say anything itself: the answer is spoken when its instants come.

use super::{Prompt, Server};
use crate::random::{Purpose, Stream};
use crate::script::answer::Answer;
use crate::script::engine::Work;
use crate::script::faults::Fault;
use crate::script::inbound::Request;
use crate::script::reply::Reply;
use crate::script::stream::Identity;
use crate::script::{Ask, BadAsk, meter, read_ask};
use crate::time::{Instant, Span};
use crate::wire::Api;

/// Answers of clients that name no length: vLLM's default for completions.
const DEFAULT_OUTPUT_TOKENS: u32 = 16;
/// A client's request id is echoed up to this length; longer ones would outgrow the events.
const LONGEST_ECHOED_ID: usize = 64;

impl Server {
    /// What to say to `request`; a generation is given to the engine.
    pub(super) fn understand(&mut self, conn: usize, request: &Request<'_>, stamp: Instant) -> Prompt {
        let keep_alive = request.keep_alive;
        let reply = match (request.path, request.method) {
            ("/v1/chat/completions", "POST") => match self.generate(conn, Api::Chat, request, stamp) {
                Ok(prompt) => return prompt,
                Err(reply) => reply,
            },
            ("/v1/completions", "POST") => match self.generate(conn, Api::Completions, request, stamp) {
                Ok(prompt) => return prompt,
                Err(reply) => reply,
            },
            ("/health" | "/ping", "GET") => Reply::health(),
            ("/v1/models", "GET") => {
                Reply::models(&self.script.model, self.script.max_model_len, self.unix_s(stamp))
            }
            ("/metrics", "GET") => {
                self.show_load();
                Reply::metrics(meter::page(&self.seat.meters, &self.script.model))
            }
            ("/v1/chat/completions" | "/v1/completions", _) => Reply::method_not_allowed("POST"),
            ("/health" | "/ping" | "/v1/models" | "/metrics", _) => Reply::method_not_allowed("GET"),
            _ => Reply::not_found(),
        };
        Prompt::Whole { reply: Box::new(reply), keep_alive }
    }

    fn generate(
        &mut self,
        conn: usize,
        api: Api,
        request: &Request<'_>,
        stamp: Instant,
    ) -> Result<Prompt, Reply> {
        let ask = read_ask(api, request.body).map_err(|bad| Reply::bad_ask(&bad))?;
        let output_tokens = self.permit(&ask)?;
        let shards = u64::try_from(self.seat.shards).expect("fewer shards than 2^64");
        let number = self.asked * shards + u64::try_from(self.seat.shard).expect("a shard is below shards");
        self.asked += 1;
        let per_event = self.script.tokens_per_event.mean(output_tokens).max(1.0);
        let events = libm::ceil(f64::from(output_tokens) / per_event);
        // Between 1 and output_tokens, so the cast is exact.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most a u32, see above"
        )]
        let fault = self.script.faults.befall(self.script.seed, number, events as u32);
        let hash = Stream::key(self.script.seed, Purpose::named("simulator's answers"), number);
        let echoed = request.request_id.filter(|id| can_be_echoed(id));
        let cached_tokens = self.cache.as_mut().map(|cache| cache.take(ask.prompt, ask.prompt_tokens));
        if let Some(cached) = cached_tokens {
            self.meter().cache_queries.add(ask.prompt_tokens.into());
            self.meter().cache_hits.add(cached.into());
        }
        let who = Identity {
            api,
            id: echoed.map_or_else(|| format!("{hash:016x}").into(), Into::into),
            created_s: self.unix_s(stamp),
            hash,
            prompt_tokens: ask.prompt_tokens,
            cached_tokens,
            continuous_usage: ask.continuous_usage,
        };
        let work = Work {
            owner: u32::try_from(conn).expect("fewer connections than 2^32"),
            number,
            prompt_tokens: ask.prompt_tokens - cached_tokens.unwrap_or(0),
            output_tokens,
        };
        let ticket = self.engine.arrive(work, stamp);
        if let Some(Fault::Status(_)) = fault {
            self.engine.cancel(ticket, stamp);
        }
        self.links[conn].answer = Some(Box::new(Answer {
            ticket,
            who,
            received: stamp,
            first: None,
            last: stamp,
            stream: ask.stream,
            include_usage: ask.include_usage,
            keep_alive: request.keep_alive,
            choices: ask.choices,
            output_tokens,
            finish: if ask.max_tokens.is_some() { "length" } else { "stop" },
            fault,
            events: 0,
            waited: Span::ZERO,
        }));
        self.show_load();
        let request_id = request.request_id.filter(|_| self.seat.marking).map(Into::into);
        Ok(Prompt::Answer { request_id })
    }

    /// The length of the answer, or why there will be none.
    fn permit(&self, ask: &Ask<'_>) -> Result<u32, Reply> {
        if let Some(model) = ask.model.as_deref().filter(|model| *model != self.script.model) {
            return Err(Reply::no_such_model(model, &self.script.model));
        }
        let most = self.script.max_model_len;
        let bad = |message: String, param| Err(Reply::bad_ask(&BadAsk { message, param: Some(param) }));
        if ask.prompt_tokens >= most {
            return bad(
                format!(
                    "This model's maximum context length is {most} tokens. However, your request has {} input tokens. Please reduce the length of the input messages. (parameter=input_tokens, value={})",
                    ask.prompt_tokens, ask.prompt_tokens
                ),
                "input_tokens",
            );
        }
        match ask.max_tokens {
            Some(asked) if asked > most => bad(
                format!(
                    "max_tokens={asked} cannot be greater than max_model_len={most}. Please request fewer output tokens. (parameter=max_tokens, value={asked})"
                ),
                "max_tokens",
            ),
            Some(asked) if asked > most - ask.prompt_tokens => bad(
                format!(
                    "max_tokens={asked} is too large: this model's maximum context length is {most} tokens and your request has {} input tokens. (parameter=max_tokens, value={asked})",
                    ask.prompt_tokens
                ),
                "max_tokens",
            ),
            Some(asked) => Ok(asked),
            None => Ok(DEFAULT_OUTPUT_TOKENS.min(most - ask.prompt_tokens)),
        }
    }
}

/// Whether an id can stand in JSON and in a line as it is.
fn can_be_echoed(id: &str) -> bool {
    id.len() <= LONGEST_ECHOED_ID && id.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\'))
}
