//! From a plan to the bytes of its requests; opens no file: the text of prompts is handed in.

use super::{Plan, PromptAs, Prompts};
use crate::wire::{Common, HeadFault, Method, RequestHead};
use crate::workload::{self, PromptForm, Source, Workload, WorkloadError, WorkloadSpec, ids_below};

impl Plan {
    /// The head of the run's requests, `x-request-id: <run>-<index>` among them where the plan wants it.
    ///
    /// # Errors
    /// When `run` cannot stand in a header; all else was checked.
    pub fn head(&self, run: &str) -> Result<RequestHead, HeadFault> {
        self.head_of(Method::Post, &self.target.endpoint.path, self.payload.request_id.then_some(run))
    }

    /// The head of a request for another resource of the same server, such as `/v1/models`.
    ///
    /// # Errors
    /// When the path cannot stand in a request line.
    pub fn head_of_get(&self, path: &str) -> Result<RequestHead, HeadFault> {
        self.head_of(Method::Get, &self.target.endpoint.sibling(path), None)
    }

    /// The head of a probe's request: as the run's, without a number.
    ///
    /// # Errors
    /// Never for a checked plan.
    pub fn head_of_probe(&self) -> Result<RequestHead, HeadFault> {
        self.head_of(Method::Post, &self.target.endpoint.path, None)
    }

    fn head_of(&self, method: Method, target: &str, run: Option<&str>) -> Result<RequestHead, HeadFault> {
        let headers: Vec<(String, String)> =
            self.target.headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect();
        let host = self.target.endpoint.authority();
        RequestHead::new(&Common { method, target, host: &host, api_key: None, headers: &headers, run })
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
            Prompts::Synthetic(input_tokens) => {
                let form = match self.payload.prompt_as {
                    PromptAs::Text => PromptForm::Text,
                    PromptAs::Ids(size) => PromptForm::Ids(ids_below(size)),
                };
                Source::Synthetic { input_tokens: *input_tokens, form }
            }
            Prompts::File(_) => {
                let text = prompts.expect("who makes the workload has read its prompts");
                Source::File(workload::Prompts::parse(text)?)
            }
        };
        Workload::new(&WorkloadSpec {
            api: self.target.api,
            head: self.head(run).expect("a checked plan's head can be written"),
            model: model.to_owned(),
            seed: self.load.seed,
            source,
            output_tokens: self.payload.output_tokens,
            choices: self.payload.choices,
            ignore_eos: self.payload.ignore_eos,
            include_usage: self.payload.include_usage,
            extra_body: self.target.extra_body.clone(),
        })
    }
}
