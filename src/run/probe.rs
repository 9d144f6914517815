//! What a few requests tell before the run: model, streaming, usage, whether the asked length is honoured, idle times.
//!
//! It must not measure anything that the report compares: its instants are a thread's, not the kernel's.

use super::channel::Unreached;
use super::exchange::{Answer, Kind, exchange};
use super::{Interrupts, RunError};
use crate::clock;
use crate::plan::{Endpoint, Plan};
use crate::ring::Address;
use crate::time::{Span, format_span};
use crate::tls::Peer;
use crate::wire::{ErrorClass, Expect, error_message, model_ids};
use crate::workload::{Request, TokenFit, Workload};

/// Where a server names its models.
const MODELS: &str = "/v1/models";

/// Lengths of the probe's prompts in words: far enough apart to tell the template's tokens from the words' own.
const WORDS: [u32; 3] = [16, 144, 144];

/// Answers are short, so that a slow server is not kept long, and long enough for a TPOT.
const OUTPUT_TOKENS: u32 = 8;

/// How often a server that is not ready is asked again.
const RETRY: Span = Span::from_ms(250);

/// Longer than a cold server takes for its first answer; less than anyone waits for a mistake to show.
const LONGEST_ANSWER: Span = Span::from_s(60);

/// What the probe found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Whether the server counts tokens.
    pub counts_tokens: bool,
    /// Whether answers have the length asked for.
    pub honours_output_tokens: Option<bool>,
    /// A round trip: the fastest of the connects.
    pub round_trip: Span,
    /// The fastest TTFT.
    pub idle_ttft: Option<Span>,
    /// The fastest TPOT.
    pub idle_tpot: Option<Span>,
    /// Tokens of words, where the server's counts tell.
    pub fit: Option<TokenFit>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

impl Findings {
    /// How long a request of the plan takes on an idle server, where the probe could tell.
    pub fn expected_e2e(&self, plan: &Plan) -> Option<Span> {
        let decoding = self.idle_tpot.unwrap_or_default().as_s_f64() * plan.payload.mean_output_tokens();
        Some(self.idle_ttft? + Span::from_s_f64(decoding))
    }
}

/// One server, and how to ask it.
#[derive(Copy, Clone)]
pub struct Site<'a> {
    /// The run's plan.
    pub plan: &'a Plan,
    /// The server.
    pub endpoint: &'a Endpoint,
    /// The server as TLS knows it, where it speaks that.
    pub peer: Option<&'a Peer>,
    /// Where it is, at least one place.
    pub addresses: &'a [Address],
    /// Whether the user still wants to know.
    pub interrupts: &'a Interrupts,
}

impl Site<'_> {
    /// The models that the server names.
    pub fn models(&self) -> Result<Vec<String>, RunError> {
        let answer = self.get(MODELS)?;
        let models = model_ids(&answer.body);
        if models.is_empty() {
            let (said, url) = (said(&answer), self.endpoint.url());
            return Err(RunError::Target(match answer.reply.status {
                // What speaks no HTTP serves no model either, whatever --model says.
                None => format!("{url}: GET {MODELS} failed: {said}"),
                Some(_) => format!(
                    "{url}: GET {MODELS} names no model ({said}): check that --url is the base of a server with the \
                     OpenAI API, or give the model with --model"
                ),
            }));
        }
        Ok(models)
    }

    fn get(&self, path: &str) -> Result<Answer, RunError> {
        let mut request = Vec::new();
        let head = self.plan.head_of_get(self.endpoint, path);
        head.map_err(|fault| RunError::Plan(fault.to_string()))?.write(0, 0, &mut request);
        let kind = Kind::Unary(self.expect(1));
        let mut last = None;
        // Some of several addresses may not accept.
        for address in self.addresses {
            match exchange(address, self.peer, &request, kind, self.patience(), self.interrupts) {
                Ok(answer) => return Ok(answer),
                Err(error) => last = Some(error),
            }
        }
        Err(self.unreachable(&last.expect("a server has an address")))
    }

    /// The text of a page of the server, if it has it.
    pub fn page(&self, path: &str) -> Option<String> {
        let answer = self.get(path).ok()?;
        (answer.reply.status == Some(200)).then(|| String::from_utf8_lossy(&answer.body).into_owned())
    }

    /// Whether the server says that it is the simulator of this program, among the models that it names.
    pub fn is_our_simulator(&self) -> bool {
        /// The id of the permission that it gives; a name that a user chose cannot hold it by chance.
        const MARK: &str = "\"modelperm-lowrho\"";
        self.page(MODELS).is_some_and(|page| page.contains(MARK))
    }

    /// How long one answer is waited for: as long as the user would, and not forever.
    fn patience(&self) -> Span {
        LONGEST_ANSWER.min(self.plan.target.timeouts.total)
    }

    fn expect(&self, choices: u32) -> Expect {
        let choices = u16::try_from(choices).unwrap_or(u16::MAX);
        Expect { api: self.plan.target.api, choices, reused: false }
    }

    fn unreachable(&self, error: &Unreached) -> RunError {
        let url = self.endpoint.url();
        RunError::Target(match error {
            Unreached::Connect(error) => {
                format!(
                    "{url}: cannot connect ({error}): is the server running? --wait-ready 60s waits for it"
                )
            }
            Unreached::Tls(failure) => format!("{url}: TLS failed ({failure}): {}", failure.remedy()),
        })
    }

    /// Waits until the server answers anything at all but a 5xx.
    pub fn wait_ready(&self, limit: Span) -> Result<(), RunError> {
        let until = clock::now() + limit;
        loop {
            let answer = self.get(MODELS);
            if let Ok(Answer { reply, .. }) = &answer
                && reply.status.is_some_and(|status| status < 500)
            {
                return Ok(());
            }
            if self.interrupts.count() > 0 {
                return Err(RunError::Interrupted);
            }
            if clock::now() >= until {
                let last = match answer {
                    Ok(answer) => said(&answer),
                    Err(error) => error.to_string(),
                };
                let (url, limit) = (self.endpoint.url(), format_span(limit));
                return Err(RunError::Target(format!(
                    "{url}: the server was not ready within {limit}; at last: {last}"
                )));
            }
            clock::sleep(RETRY);
        }
    }

    /// Asks the server a few requests of the workload's own kind, at each of its addresses in turn.
    ///
    /// # Errors
    /// None of them worked: in the server's own words.
    pub fn probe(&self, workload: &Workload) -> Result<Findings, RunError> {
        let head = self.plan.head_of_probe(self.endpoint);
        let head = head.map_err(|fault| RunError::Plan(fault.to_string()))?;
        let mut answers = Vec::new();
        let mut failure = None;
        for ((words, nth), address) in WORDS.into_iter().zip(0..).zip(self.addresses.iter().cycle()) {
            if self.interrupts.count() > 0 {
                return Err(RunError::Interrupted);
            }
            let mut request = Request::new();
            workload.probe(&head, nth, words, OUTPUT_TOKENS, &mut request);
            let kind = Kind::Stream(self.expect(workload.choices()));
            let bytes = request.to_bytes();
            let answer = exchange(address, self.peer, &bytes, kind, self.patience(), self.interrupts)
                .map_err(|error| self.unreachable(&error))?;
            match answer.reply.error {
                None => answers.push((words, answer)),
                // The server is there and may only be busy: the next try may go better.
                Some(ErrorClass::Http5xx | ErrorClass::Http429) => failure = Some(answer),
                Some(_) => return Err(self.cannot_work(&answer)),
            }
        }
        match (answers.is_empty(), failure) {
            (true, Some(failure)) => Err(self.cannot_work(&failure)),
            (_, failure) => {
                let mut found = findings(&answers, workload);
                if let Some(failure) = failure {
                    found.notes.push(format!("a request of the probe failed: {}", said(&failure)));
                }
                Ok(found)
            }
        }
    }

    fn cannot_work(&self, answer: &Answer) -> RunError {
        let url = self.endpoint.url();
        let said = said(answer);
        let class = answer.reply.error.map(ErrorClass::name).filter(|class| *class != said);
        let class = class.map_or(String::new(), |class| format!("{class}: "));
        let remedy = match answer.reply.error {
            Some(ErrorClass::NotAStream) => {
                "; the server answered without streaming, and lowrho measures streams: look at its options and at --extra-body"
            }
            _ => "; --no-probe starts the run all the same",
        };
        RunError::Target(format!("POST {url} failed at the probe: {class}{said}{remedy}"))
    }
}

fn said(answer: &Answer) -> String {
    let reply = &answer.reply;
    let words = reply.detail.clone().or_else(|| error_message(&answer.body));
    match (reply.status, words) {
        (Some(status), Some(words)) => format!("{status}: {words}"),
        (Some(status), None) => format!("status {status}"),
        (None, Some(words)) => words.into(),
        (None, None) => reply.error.map_or("nothing", ErrorClass::name).into(),
    }
}

fn findings(answers: &[(u32, Answer)], workload: &Workload) -> Findings {
    let fastest = |spans: Vec<Span>| spans.into_iter().min();
    let counted: Vec<(u32, u64)> = answers
        .iter()
        .filter_map(|(words, answer)| Some((*words, answer.reply.usage.prompt_tokens?)))
        .collect();
    let mut found = Findings {
        counts_tokens: answers.iter().all(|(_, answer)| answer.reply.usage.completion_tokens.is_some()),
        round_trip: fastest(answers.iter().map(|(_, answer)| answer.round_trip).collect())
            .unwrap_or_default(),
        idle_ttft: fastest(answers.iter().filter_map(|(_, a)| Some(a.first? - a.sent)).collect()),
        idle_tpot: fastest(answers.iter().filter_map(|(_, answer)| tpot(answer)).collect()),
        ..Findings::default()
    };
    if !found.counts_tokens {
        found.notes.push(
            "the server sends no usage: output tokens are counted by events, which is an estimate".into(),
        );
    }
    let delivered: Vec<u64> = answers.iter().filter_map(|(_, answer)| answer.reply.output_tokens).collect();
    if workload.asked_output_tokens(0).is_some() {
        let asked = u64::from(OUTPUT_TOKENS) * u64::from(workload.choices());
        let honoured = delivered.iter().all(|tokens| *tokens == asked);
        found.honours_output_tokens = Some(honoured);
        if !honoured {
            found.notes.push(format!(
                "asked for {asked} output tokens, the server delivered {delivered:?}: \
                 lengths of answers are its own (does it know ignore_eos?)"
            ));
        }
    }
    if workload.takes_fit()
        && let (Some(short), Some(long)) = (counted.first(), counted.last())
        && short.0 < long.0
    {
        let small = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX);
        match TokenFit::through((short.0, small(short.1)), (long.0, small(long.1))) {
            Ok(fit) => found.fit = Some(fit),
            Err(why) => found.notes.push(why.to_string()),
        }
    }
    found
}

fn tpot(answer: &Answer) -> Option<Span> {
    let after_first = i64::try_from(answer.reply.output_tokens?.checked_sub(1)?).ok()?;
    let decoding = answer.last? - answer.first?;
    (after_first > 0).then(|| decoding / after_first)
}
