//! The first request of a plan as commands that a shell can be given as they stand; sends nothing.

use crate::plan::{Endpoint, Header, Listen, Plan, SIM_LISTEN, SimIdentity, Tls};
use crate::workload::Request;
use std::fmt::Write as _;

/// Where a server names its models.
const MODELS: &str = "/v1/models";

/// Where the certificate of a simulator would be that made it.
const SIM_CERT: &str = "sim.pem";

/// Stands for a model that is not known yet: a shell variable in the body.
const MODEL: &str = "$MODEL";

/// Comments and commands. Secrets are variables of the shell, and so is a model that the probe would ask for.
pub(super) fn first_request(plan: &Plan, prompts: Option<&str>) -> String {
    let endpoint = endpoint(plan);
    let mut text = String::from("# The first request; nothing was sent.");
    let mut say = |line: &str| {
        let _ = write!(text, "\n{line}");
    };
    if plan.target.endpoints.len() > 1 {
        say(&format!("# It goes to the first of the {} targets.", plan.target.endpoints.len()));
    }
    if plan.sim.as_ref().is_some_and(|sim| matches!(&sim.listen[0], Listen::Tcp(to) if to.port() == 0)) {
        say(&format!(
            "# The simulator takes a free port; this is for one that listens at {SIM_LISTEN}: lowrho sim"
        ));
    }
    if plan.sim.as_ref().is_some_and(|sim| sim.tls.is_some()) && plan.target.tls == Tls::default() {
        say(&format!("# It is known by its own certificate: lowrho sim --tls --tls-cert-out {SIM_CERT}"));
    }
    let secrets: Vec<String> =
        plan.target.headers_of(&endpoint).filter(|header| header.secret).map(variable).collect();
    if !secrets.is_empty() {
        say(&format!("# Set first: {}", secrets.join(", ")));
    }
    let of_sim = plan.sim.as_ref().map(|sim| sim.script.model.as_str());
    let model = plan.target.model.as_deref().or(of_sim);
    if model.is_none() {
        say("# The run takes the first model that the server names:");
        let ask = command(plan, &endpoint, "--silent", &endpoint.sibling(MODELS), "");
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
    say(&command(plan, &endpoint, "--no-buffer", &endpoint.path, &rest));
    text
}

/// Where a command would find the first server.
fn endpoint(plan: &Plan) -> Endpoint {
    let mut endpoint = plan.target.endpoints[0].clone();
    match plan.sim.as_ref().map(|sim| &sim.listen[0]) {
        Some(Listen::Tcp(to)) => {
            let usual = SIM_LISTEN.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(8000);
            endpoint.port = if to.port() == 0 { usual } else { to.port() };
            if !to.ip().is_unspecified() {
                endpoint.host = to.ip().to_string();
            }
        }
        Some(Listen::Unix(path)) => {
            (endpoint.host, endpoint.port) = ("localhost".into(), 80);
            endpoint.socket = Some(path.clone());
        }
        None => {}
    }
    endpoint
}

/// Asks `endpoint` for `path`.
fn command(plan: &Plan, endpoint: &Endpoint, how: &str, path: &str, rest: &str) -> String {
    let url = quoted(&format!("{}://{}{path}", endpoint.scheme(), endpoint.authority()));
    let socket = endpoint.socket.as_deref();
    let socket = socket.map(|socket| format!(" \\\n  --unix-socket {}", quoted(socket)));
    let headers = plan.target.headers_of(endpoint).map(|header| format!(" \\\n  --header {}", shown(header)));
    let tls = if endpoint.secure { secured(plan) } else { String::new() };
    format!("curl {how} {url}{}{tls}{}{rest}", socket.unwrap_or_default(), headers.collect::<String>())
}

/// How curl is told whom to trust and who we are.
fn secured(plan: &Plan) -> String {
    let Tls { ca_cert, client_cert, client_key, insecure } = &plan.target.tls;
    // A certificate that a simulator shows is the one to trust.
    let of_sim = plan.sim.as_ref().and_then(|sim| match &sim.tls.as_ref()?.identity {
        SimIdentity::SelfMade(out) => Some(out.clone().unwrap_or_else(|| SIM_CERT.into())),
        SimIdentity::Files { cert, .. } => Some(cert.clone()),
    });
    let trusted = ca_cert.clone().or(of_sim).filter(|_| !insecure);
    let files = [("--cacert", &trusted), ("--cert", client_cert), ("--key", client_key)];
    let told = files
        .into_iter()
        .filter_map(|(flag, file)| Some(format!(" \\\n  {flag} {}", quoted(file.as_ref()?))));
    let told: String = told.collect();
    if *insecure { format!(" \\\n  --insecure{told}") } else { told }
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
pub(super) fn variable(header: &Header) -> String {
    if is_bearer(header) {
        return "OPENAI_API_KEY".into();
    }
    header
        .name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect()
}

pub(super) fn is_bearer(header: &Header) -> bool {
    header.name.eq_ignore_ascii_case("authorization") && header.value.starts_with("Bearer ")
}

/// In single quotes, as a POSIX shell reads them.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
