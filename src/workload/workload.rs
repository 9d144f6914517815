//! The workload of a run: everything that request `index` sends, as a pure function of (seed, index).
//! It must not allocate per request once buffers have grown, nor remember any request.

use super::prompts::Entry;
use super::synthetic::Synthetic;
use super::template::{Output, Template};
use super::tokens::{self, LONGEST_OUTPUT};
use super::{InputTokens, PromptForm, Prompts, Request, Route, TokenFit, WorkloadError};
use crate::random::{Counts, Purpose, Stream};
use crate::wire::{Api, RequestHead};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a workload is made from.
#[derive(Clone, Debug)]
pub struct WorkloadSpec {
    /// The dialect.
    pub api: Api,
    /// The HTTP head that all requests share, as long as there is one server ([`Workload::routed`]).
    pub head: RequestHead,
    /// The model's name.
    pub model: String,
    /// The seed of all lengths and words.
    pub seed: u64,
    /// Where prompts come from.
    pub source: Source,
    /// Tokens asked of each answer, where the prompt's own line does not say.
    pub output_tokens: Counts,
    /// Answers per request (`n`; sent when it is not 1).
    pub choices: u32,
    /// Whether `ignore_eos` is sent, so that answers have the length asked for.
    pub ignore_eos: bool,
    /// Whether `stream_options.include_usage` is sent.
    pub include_usage: bool,
    /// Merged into every body (RFC 7396): its keys win, a null removes a key.
    pub extra_body: Map<String, Value>,
}

/// Where prompts come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Made up: no two alike, whatever their number.
    Synthetic {
        /// Their lengths in tokens.
        input_tokens: Counts,
        /// Tokens before that, the same in all requests of a run: what a prefix cache can keep.
        prefix_tokens: u32,
        /// How they are written.
        form: PromptForm,
    },
    /// From a file, as they are: request `index` sends number `index % len`.
    File(Prompts),
}

/// Everything that is needed to write request `index`. Cheap to clone: what is large is shared.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Of each server, in order.
    heads: Arc<[RequestHead]>,
    route: Route,
    seed: u64,
    output_tokens: Counts,
    template: Template,
    prompts: Material,
    /// What prompts are ranges of.
    shared: Arc<[u8]>,
}

#[derive(Clone, Debug)]
enum Material {
    Synthetic(Synthetic),
    File(Arc<[Entry]>),
}

const OUTPUT_TOKENS: Purpose = Purpose::named("output tokens");
const UNIQUE_HEAD: Purpose = Purpose::named("unique head");
const PROBE_HEAD: Purpose = Purpose::named("unique head of a probe");

impl Workload {
    /// Checks the spec and writes once what all requests share.
    ///
    /// # Errors
    /// A length, a prompt or a key that cannot be sent; the words say which, and the remedy.
    pub fn new(spec: &WorkloadSpec) -> Result<Self, WorkloadError> {
        let template = Self::template(spec)?;
        let (prompts, shared) = match &spec.source {
            Source::Synthetic { input_tokens, prefix_tokens, form } => {
                let lengths = (*prefix_tokens, *input_tokens);
                let synthetic = Synthetic::new(spec.api, form, lengths, spec.seed)?;
                let shared = synthetic.shared();
                (Material::Synthetic(synthetic), shared)
            }
            Source::File(prompts) => {
                let (bytes, entries) = prompts.write(spec.api)?;
                (Material::File(entries.into()), bytes.into())
            }
        };
        Ok(Self {
            heads: [spec.head.clone()].into(),
            route: Route::only(),
            seed: spec.seed,
            output_tokens: spec.output_tokens,
            template,
            prompts,
            shared,
        })
    }

    /// Checks the spec and writes nothing. A file of prompts has the last word when it is written.
    ///
    /// # Errors
    /// As [`Workload::new`].
    pub fn check(spec: &WorkloadSpec) -> Result<(), WorkloadError> {
        Self::template(spec)?;
        match &spec.source {
            Source::Synthetic { input_tokens, form, .. } => {
                Synthetic::check(spec.api, form, *input_tokens).map(drop)
            }
            Source::File(_) => Ok(()),
        }
    }

    fn template(spec: &WorkloadSpec) -> Result<Template, WorkloadError> {
        let template = Template::new(spec)?;
        tokens::check("output-tokens", spec.output_tokens, LONGEST_OUTPUT)?;
        Ok(template)
    }

    /// The same workload, sent to several servers by `route`: each has a head of its own.
    #[must_use]
    pub fn routed(mut self, heads: Vec<RequestHead>, route: Route) -> Self {
        self.heads = heads.into();
        self.route = route;
        self
    }

    /// The server of request `index`, from 0. What a sticky route goes by is the session of a prompt's line, else the
    /// line; a made-up prompt is like no other.
    #[must_use]
    pub fn target(&self, index: u64) -> u16 {
        self.route.of(index, || match &self.prompts {
            Material::Synthetic(_) => index,
            Material::File(entries) => entry(entries, index).key,
        })
    }

    /// The same workload with text prompts cut to length by what the server itself counted.
    /// Token ids need none, and prompts of a file stay as they are.
    #[must_use]
    pub fn calibrated(mut self, fit: TokenFit) -> Self {
        if let Material::Synthetic(synthetic) = &mut self.prompts {
            synthetic.calibrate(fit);
        }
        self
    }

    /// Whether a fit of words to tokens changes what is sent: for text prompts of our own making alone.
    #[must_use]
    pub fn takes_fit(&self) -> bool {
        matches!(self.prompts, Material::Synthetic(_)) && !self.input_is_exact()
    }

    /// Writes request `index` into `into`, whose buffers are reused.
    pub fn request(&self, index: u64, into: &mut Request) {
        let asked = self.asked_output_tokens(index);
        let head = &self.heads[usize::from(self.target(index))];
        match &self.prompts {
            Material::Synthetic(synthetic) => {
                let prompt = synthetic.prompt(UNIQUE_HEAD, index, synthetic.units(index)).after_prefix();
                self.write(head, index, asked, prompt.length(), into, |request| prompt.write(request));
            }
            Material::File(entries) => {
                let json = entry(entries, index).json.clone();
                let length = (json.end - json.start) as usize;
                self.write(head, index, asked, length, into, |request| request.borrow(json));
            }
        }
    }

    /// Writes a request that is none of the run's, `nth` (from 0) of those that go before it: `units` words or ids long
    /// (or, from a file, its first prompt), under a head of its own, and unlike any request of the run, so that no cache
    /// of prefixes is warmed by it. It asks for `output_tokens`, where the body leaves that to each request.
    pub fn probe(&self, head: &RequestHead, nth: u64, units: u32, output_tokens: u32, into: &mut Request) {
        let asked = self.asked(|| output_tokens);
        match &self.prompts {
            Material::Synthetic(synthetic) => {
                let prompt = synthetic.prompt(PROBE_HEAD, nth, units.max(1));
                self.write(head, nth, asked, prompt.length(), into, |request| prompt.write(request));
            }
            Material::File(entries) => {
                let json = entries[0].json.clone();
                let length = (json.end - json.start) as usize;
                self.write(head, nth, asked, length, into, |request| request.borrow(json));
            }
        }
    }

    /// Head and body around a prompt's value of `prompt_length` bytes.
    fn write(
        &self,
        head: &RequestHead,
        index: u64,
        asked: Option<u32>,
        prompt_length: usize,
        into: &mut Request,
        prompt: impl FnOnce(&mut Request),
    ) {
        let mut number = itoa::Buffer::new();
        let number = number.format(asked.unwrap_or(0));
        let length = self.template.length(number.len()) + prompt_length;
        into.restart(&self.shared);
        into.write(|own| head.write(index, length, own));
        into.end_head();
        into.write(|own| self.template.write(number, own));
        prompt(into);
        into.write(|own| own.extend_from_slice(self.template.tail));
    }

    /// Tokens asked of each answer to request `index`; `None` where the body does not limit them.
    #[must_use]
    pub fn asked_output_tokens(&self, index: u64) -> Option<u32> {
        self.asked(|| {
            let own = match &self.prompts {
                Material::Synthetic(_) => None,
                Material::File(entries) => entry(entries, index).output_tokens,
            };
            own.unwrap_or_else(|| {
                self.output_tokens.sample(&mut Stream::new(self.seed, OUTPUT_TOKENS, index), LONGEST_OUTPUT)
            })
        })
    }

    fn asked(&self, each: impl FnOnce() -> u32) -> Option<u32> {
        match self.template.output {
            Output::Each => Some(each()),
            Output::Fixed(count) => Some(count),
            Output::Unasked => None,
        }
    }

    /// Tokens of request `index`'s prompt.
    #[must_use]
    pub fn input_tokens(&self, index: u64) -> InputTokens {
        match &self.prompts {
            Material::Synthetic(synthetic) => synthetic.tokens(synthetic.units(index)),
            Material::File(entries) => entry(entries, index).input,
        }
    }

    /// Mean of [`Workload::asked_output_tokens`]; `None` where it is none.
    #[must_use]
    pub fn mean_output_tokens(&self) -> Option<f64> {
        let drawn = self.output_tokens.mean(LONGEST_OUTPUT);
        match (self.template.output, &self.prompts) {
            (Output::Unasked, _) => None,
            (Output::Fixed(count), _) => Some(f64::from(count)),
            (Output::Each, Material::Synthetic(_)) => Some(drawn),
            (Output::Each, Material::File(entries)) => {
                Some(mean(entries.iter().map(|entry| entry.output_tokens.map_or(drawn, f64::from))))
            }
        }
    }

    /// Mean of [`Workload::input_tokens`].
    #[must_use]
    pub fn mean_input_tokens(&self) -> f64 {
        match &self.prompts {
            Material::Synthetic(synthetic) => synthetic.mean_tokens(),
            Material::File(entries) => mean(entries.iter().map(|entry| f64::from(entry.input.count))),
        }
    }

    /// Whether lengths of prompts are exact; else they are estimates.
    #[must_use]
    pub fn input_is_exact(&self) -> bool {
        self.input_tokens(0).exact
    }

    /// Answers asked for by each request.
    #[must_use]
    pub fn choices(&self) -> u32 {
        self.template.choices
    }

    /// Whether answers are asked for as streams.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.template.streams
    }
}

fn entry(entries: &[Entry], index: u64) -> &Entry {
    let nth = index % entries.len() as u64;
    &entries[usize::try_from(nth).expect("below the number of prompts")]
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = u32::try_from(values.len()).map_or(f64::INFINITY, f64::from);
    values.sum::<f64>() / count
}
