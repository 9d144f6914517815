//! The first request of a plan as commands that a shell can be given as they stand; sends nothing.

use crate::plan::{Endpoint, Header, Plan, SIM_LISTEN};
use crate::workload::Request;
use std::fmt::Write as _;

/// Where a server names its models.
const MODELS: &str = "/v1/models";

/// Stands for a model that is not known yet: a shell variable in the body.
const MODEL: &str = "$MODEL";

/// Comments and commands. Secrets are variables of the shell, and so is a model that the probe would ask for.
pub(super) fn first_request(plan: &Plan, prompts: Option<&str>) -> String {
    let endpoint = endpoint(plan);
    let mut text = String::from("# The first request; nothing was sent.");
    let mut say = |line: &str| {
        let _ = write!(text, "\n{line}");
    };
    if plan.sim.as_ref().is_some_and(|sim| sim.listen.port() == 0) {
        say(&format!(
            "# The simulator takes a free port; this is for one that listens at {SIM_LISTEN}: lowrho sim"
        ));
    }
    let secrets: Vec<String> =
        plan.target.headers.iter().filter(|header| header.secret).map(variable).collect();
    if !secrets.is_empty() {
        say(&format!("# Set first: {}", secrets.join(", ")));
    }
    let of_sim = plan.sim.as_ref().map(|sim| sim.script.model.as_str());
    let model = plan.target.model.as_deref().or(of_sim);
    if model.is_none() {
        say("# The run takes the first model that the server names:");
        let ask = command(plan, "--silent", &format!("{}{}", root(&endpoint), endpoint.sibling(MODELS)), "");
        say(&format!("MODEL=$({ask} | grep -o '\"id\": *\"[^\"]*\"' | head -n 1 | cut -d '\"' -f 4)"));
    }
    let body = quoted(&body(plan, model.unwrap_or(MODEL), prompts));
    // The quotes end around the variable, so that the shell puts its value in.
    let body = if model.is_none() {
        body.replacen(&format!("\"model\":\"{MODEL}\""), &format!("\"model\":\"'\"{MODEL}\"'\""), 1)
    } else {
        body
    };
    let mut rest = " \\\n  --header 'Content-Type: application/json'".to_owned();
    if plan.payload.request_id {
        rest.push_str(" \\\n  --header 'x-request-id: RUN-0'");
    }
    let _ = write!(rest, " \\\n  --data-raw {body}");
    say(&command(plan, "--no-buffer", &endpoint.url(), &rest));
    text
}

/// Where a command would find the server.
fn endpoint(plan: &Plan) -> Endpoint {
    let mut endpoint = plan.target.endpoint.clone();
    if let (Some(sim), 0) = (&plan.sim, endpoint.port) {
        let usual = SIM_LISTEN.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(8000);
        endpoint.port = if sim.listen.port() == 0 { usual } else { sim.listen.port() };
    }
    endpoint
}

fn root(endpoint: &Endpoint) -> String {
    format!("http://{}", endpoint.authority())
}

fn command(plan: &Plan, how: &str, url: &str, rest: &str) -> String {
    let headers = plan.target.headers.iter().map(|header| format!(" \\\n  --header {}", shown(header)));
    format!("curl {how} {}{}{rest}", quoted(url), headers.collect::<String>())
}

/// The body of request 0.
fn body(plan: &Plan, model: &str, prompts: Option<&str>) -> String {
    let workload = plan.workload(model, "RUN", prompts).expect("the workload was made once to check it");
    let mut request = Request::new();
    workload.request(0, &mut request);
    String::from_utf8(request.body()).expect("a body is JSON, and JSON is UTF-8")
}

/// A header as the shell reads it.
fn shown(header: &Header) -> String {
    if !header.secret {
        return quoted(&format!("{}: {}", header.name, header.value));
    }
    let scheme = if is_bearer(header) { "Bearer " } else { "" };
    format!("\"{}: {scheme}${}\"", header.name, variable(header))
}

/// The variable of a secret: a bearer key's is the usual one, another's is named after the header.
fn variable(header: &Header) -> String {
    if is_bearer(header) {
        return "OPENAI_API_KEY".into();
    }
    header
        .name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect()
}

fn is_bearer(header: &Header) -> bool {
    header.name.eq_ignore_ascii_case("authorization") && header.value.starts_with("Bearer ")
}

/// In single quotes, as a POSIX shell reads them.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
