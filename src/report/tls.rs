//! How servers were spoken to over TLS, over the whole run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// TLS, as the run had it: warm-up and connections opened ahead included, the probe's left out.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// Whether servers had to prove who they are; false under `--insecure`.
    pub verified: bool,
    /// Whom we trusted to vouch for them: the host's authorities, those of a file, the simulator's own certificate, or anyone.
    pub trust: String,
    /// Handshakes that came to an end.
    pub handshakes: u64,
    /// Those of them that resumed an earlier session.
    pub resumed: u64,
    /// Handshakes that came to nothing.
    pub failed: u64,
    /// Those that came to an end, by version and cipher suite, in rustls' names.
    pub spoken: BTreeMap<String, u64>,
}
