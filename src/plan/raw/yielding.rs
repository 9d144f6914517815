//! What gives way when one set of options is laid over another: choices that exclude each other are made by the upper one.
//! Gives no option a meaning.

use super::{Raw, SimOptions, TargetOptions};

impl Raw {
    /// Drops what the choices of `upper` exclude: `--concurrency` over a file with a rate means the concurrency, not a
    /// contradiction. What excludes itself within one set stays, and is refused as the mistake it is.
    pub(super) fn yield_to(&mut self, upper: &Self) {
        let Self { target, load, stage, sweep, payload, client, output, verdict, sim } = self;
        let closed = upper.load.concurrency.is_some() || upper.stage.iter().any(|s| s.concurrency.is_some());
        let open = upper.load.rate.is_some() || upper.stage.iter().any(|s| s.rate.is_some());
        if open || closed {
            (load.rate, load.concurrency) = (None, None);
            stage.clear();
        }
        if closed {
            (load.arrival, load.max_concurrency) = (None, None);
        }
        if open {
            (load.ramp, load.think_time) = (None, None);
        }
        if upper.load.duration.is_some() || upper.load.requests.is_some() || !upper.stage.is_empty() {
            (load.duration, load.requests) = (None, None);
        }
        if upper.sweep.auto == Some(true) || upper.sweep.mlperf.is_some() {
            (sweep.from, sweep.to, sweep.steps, sweep.scale, sweep.over) = (None, None, None, None, None);
        }
        if upper.sweep.from.is_some() || upper.sweep.over.is_some() {
            (sweep.auto, sweep.tolerance, sweep.max_trial, sweep.mlperf) = (None, None, None, None);
        }
        // A preset says its own service levels.
        if upper.sweep.mlperf.is_some() {
            verdict.slo = None;
        }
        if upper.verdict.slo.is_some() {
            sweep.mlperf = None;
        }
        if !upper.target.url.is_empty() {
            // The servers are taken whole: shares in their order belong to them.
            (target.sim, *sim) = (None, SimOptions::default());
            target.url.clear();
            target.weights = None;
            if !upper.target.url.iter().any(|url| is_secure(url.as_str())) {
                without_tls(target);
            }
        }
        if upper.target.insecure == Some(true) {
            target.ca_cert = None;
        }
        if upper.target.ca_cert.is_some() {
            target.insecure = None;
        }
        if upper.target.client_cert.is_some() {
            // The key belongs to the certificate.
            target.client_key = None;
        }
        if upper.target.url.len() == 1 {
            target.balance = None;
        }
        if upper.target.sim == Some(true) {
            target.url.clear();
            (target.weights, target.balance) = (None, None);
            without_tls(target);
        }
        if upper.payload.prompts.is_some() {
            (payload.input_tokens, payload.prefix_tokens) = (None, None);
        }
        if upper.payload.input_tokens.is_some() || upper.payload.prefix_tokens.is_some() {
            payload.prompts = None;
        }
        if upper.client.busy_poll == Some(true) {
            client.coalesce = None;
        }
        if upper.client.coalesce.is_some() {
            client.busy_poll = None;
        }
        if upper.payload.prompt_as.as_ref().is_some_and(|form| form.as_str() == "text") {
            payload.vocab_size = None;
        }
        if upper.output.quiet == Some(true) || upper.output.verbose == Some(true) {
            (output.quiet, output.verbose) = (None, None);
        }
    }
}

/// Whether a URL's server speaks TLS.
fn is_secure(url: &str) -> bool {
    url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
}

/// Takes away what only servers that speak TLS have.
fn without_tls(target: &mut TargetOptions) {
    (target.ca_cert, target.client_cert, target.client_key, target.insecure) = (None, None, None, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_over(upper: &str, lower: &str) -> String {
        let raw = |toml: &str| Raw::from_toml(toml).unwrap();
        raw(upper).over(raw(lower)).to_toml()
    }

    #[test]
    fn the_upper_choice_takes_the_place_of_the_lower() {
        for (upper, lower, both) in [
            (
                "[load]\nconcurrency = 8\n",
                "[load]\nrate = 5\narrival = \"constant\"\n",
                "[load]\nconcurrency = 8\n",
            ),
            ("[load]\nrate = 8\n", "[load]\nconcurrency = 5\nramp = \"1s\"\n", "[load]\nrate = 8\n"),
            ("[load]\nrate = 8\n", "[[stage]]\nrate = 5\n", "[load]\nrate = 8\n"),
            ("[[stage]]\nrate = 5\n", "[load]\nrate = 8\nduration = \"1s\"\n", "[[stage]]\nrate = 5\n"),
            (
                "[sweep]\nauto = true\n",
                "[sweep]\nfrom = 1\nto = 9\nbudget = \"1m\"\n",
                "[sweep]\nauto = true\nbudget = \"1m\"\n",
            ),
            (
                "[sweep]\nfrom = 1\n",
                "[sweep]\nauto = true\nto = 9\nmlperf = \"x\"\n",
                "[sweep]\nfrom = 1\nto = 9\n",
            ),
            (
                "[sweep]\nmlperf = \"x\"\n",
                "[sweep]\nauto = true\n[verdict]\nslo = \"t\"\n",
                "[sweep]\nauto = true\nmlperf = \"x\"\n",
            ),
            ("[load]\nrequests = 8\n", "[load]\nduration = \"1s\"\n", "[load]\nrequests = 8\n"),
            ("[load]\nduration = \"1s\"\n", "[load]\nrequests = 8\n", "[load]\nduration = \"1s\"\n"),
            (
                "[target]\nurl = \"u\"\n",
                "[target]\nsim = true\n[sim]\nttft = \"1s\"\n",
                "[target]\nurl = \"u\"\n",
            ),
            ("[target]\nsim = true\n", "[target]\nurl = \"u\"\n", "[target]\nsim = true\n"),
            (
                "[target]\nurl = \"a\"\n",
                "[target]\nurl = [\"b\", \"c\"]\nweights = \"3,1\"\nbalance = \"sticky\"\n",
                "[target]\nurl = \"a\"\n",
            ),
            ("[payload]\nprompts = \"f\"\n", "[payload]\ninput-tokens = 1\n", "[payload]\nprompts = \"f\"\n"),
            (
                "[client]\nbusy-poll = true\n",
                "[client]\ncoalesce = \"1ms\"\n",
                "[client]\nbusy-poll = true\n",
            ),
            (
                "[client]\ncoalesce = \"1ms\"\n",
                "[client]\nbusy-poll = true\n",
                "[client]\ncoalesce = \"1ms\"\n",
            ),
            (
                "[payload]\nprompt-as = \"text\"\n",
                "[payload]\nprompt-as = \"ids\"\nvocab-size = 500\n",
                "[payload]\nprompt-as = \"text\"\n",
            ),
            ("[output]\nquiet = true\n", "[output]\nverbose = true\n", "[output]\nquiet = true\n"),
        ] {
            assert_eq!(laid_over(upper, lower), both, "{upper} over {lower}");
        }
    }

    #[test]
    fn what_excludes_nothing_leaves_the_lower_as_it_is() {
        let lower = "[load]\nrate = 5\narrival = \"constant\"\nduration = \"1s\"\n";
        assert_eq!(laid_over("[load]\nseed = 1\n", lower), format!("{lower}seed = 1\n"));
    }

    #[test]
    fn a_contradiction_within_one_set_stays_to_be_refused() {
        let both = laid_over("[load]\nrate = 5\nconcurrency = 8\n", "");
        assert!(both.contains("rate = 5") && both.contains("concurrency = 8"), "{both}");
    }
}
