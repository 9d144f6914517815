//! From a plan to the bytes of its requests; opens no file: the text of prompts is handed in.

use super::{Balance, Endpoint, Plan, PromptAs, Prompts};
use crate::random::Counts;
use crate::wire::{Common, HeadFault, Method, RequestHead};
use crate::workload::{self, PromptForm, Route, Source, Workload, WorkloadError, WorkloadSpec, ids_below};

impl Plan {
    /// The head of the run's requests to `endpoint`, `x-request-id: <run>-<index>` among them where the plan wants it.
    ///
    /// # Errors
    /// When `run` cannot stand in a header; all else was checked.
    pub fn head(&self, endpoint: &Endpoint, run: &str) -> Result<RequestHead, HeadFault> {
        let run = self.payload.request_id.then_some(run);
        let head = self.head_of(endpoint, Method::Post, &endpoint.path, run)?;
        Ok(if self.client.reuse { head } else { head.closing() })
    }

    /// The head of a request for another resource of the same server, such as `/v1/models`.
    ///
    /// # Errors
    /// When the path cannot stand in a request line.
    pub fn head_of_get(&self, endpoint: &Endpoint, path: &str) -> Result<RequestHead, HeadFault> {
        self.head_of(endpoint, Method::Get, &endpoint.sibling(path), None)
    }

    /// The head of a probe's request: as the run's, without a number.
    ///
    /// # Errors
    /// Never for a checked plan.
    pub fn head_of_probe(&self, endpoint: &Endpoint) -> Result<RequestHead, HeadFault> {
        self.head_of(endpoint, Method::Post, &endpoint.path, None)
    }

    fn head_of(
        &self,
        endpoint: &Endpoint,
        method: Method,
        target: &str,
        run: Option<&str>,
    ) -> Result<RequestHead, HeadFault> {
        let headers = self.target.headers_of(endpoint);
        let headers: Vec<(String, String)> =
            headers.map(|header| (header.name.clone(), header.value.clone())).collect();
        let host = endpoint.authority();
        RequestHead::new(&Common { method, target, host: &host, api_key: None, headers: &headers, run })
    }

    /// Which server each request goes to.
    #[must_use]
    pub fn route(&self) -> Route {
        let weights = self.target.weights();
        match self.target.balance {
            Balance::RoundRobin => Route::in_turn(&weights),
            Balance::Sticky => Route::sticky(&weights, self.load.seed),
        }
    }

    /// The workload of the run called `run`, of `model`; `prompts` is the text of the plan's file of prompts, if it
    /// has one.
    ///
    /// # Errors
    /// What only the prompts' text can show.
    ///
    /// # Panics
    /// When the plan has a file of prompts and its text is not given, or `run` cannot stand in a header.
    pub fn workload(&self, model: &str, run: &str, prompts: Option<&str>) -> Result<Workload, WorkloadError> {
        let source = match &self.payload.prompts {
            Prompts::Synthetic(input_tokens) => self.synthetic(*input_tokens),
            Prompts::File(_) => {
                let text = prompts.expect("who makes the workload has read its prompts");
                Source::File(workload::Prompts::parse(text)?)
            }
        };
        let heads = self.target.endpoints.iter();
        let heads: Vec<RequestHead> = heads
            .map(|endpoint| self.head(endpoint, run).expect("a checked plan's head can be written"))
            .collect();
        let workload = Workload::new(&self.spec(model, heads[0].clone(), source))?;
        Ok(workload.routed(heads, self.route()))
    }

    /// Whether a workload of made-up prompts can be written, where the plan has such.
    ///
    /// # Errors
    /// As [`Plan::workload`].
    pub(super) fn check_workload(&self, model: &str, head: RequestHead) -> Result<(), WorkloadError> {
        let Prompts::Synthetic(input_tokens) = &self.payload.prompts else { return Ok(()) };
        Workload::check(&self.spec(model, head, self.synthetic(*input_tokens)))
    }

    fn synthetic(&self, input_tokens: Counts) -> Source {
        let form = match self.payload.prompt_as {
            PromptAs::Text => PromptForm::Text,
            PromptAs::Ids(size) => PromptForm::Ids(ids_below(size)),
        };
        Source::Synthetic { input_tokens, prefix_tokens: self.payload.prefix_tokens, form }
    }

    fn spec(&self, model: &str, head: RequestHead, source: Source) -> WorkloadSpec {
        WorkloadSpec {
            api: self.target.api,
            head,
            model: model.to_owned(),
            seed: self.load.seed,
            source,
            output_tokens: self.payload.output_tokens,
            choices: self.payload.choices,
            ignore_eos: self.payload.ignore_eos,
            include_usage: self.payload.include_usage,
            extra_body: self.target.extra_body.clone(),
        }
    }
}
