//! Secrets of a plan: never saved, never shown, and asked for again.

use super::*;

#[test]
fn a_saved_config_with_secrets_asks_for_them_again() {
    let first = plan(RICH);
    let saved = raw(&first.effective_toml());
    let error = Plan::new(saved.clone(), &limits()).expect_err("secrets are missing").to_string();
    assert!(error.contains("give --url again"), "{error}");
    assert!(error.contains("give it again with --header 'X-Own: VALUE'"), "{error}");

    let again = raw("[target]\nurl = \"http://me:pw@h:1/v1\"\nheader = [\"x-own: s3cret\"]");
    let second = Plan::new(again.over(saved), &limits()).unwrap();
    assert_eq!(second.load, first.load);
    let values = |plan: &Plan| {
        let headers = plan.target.headers_of(&plan.target.endpoints[0]);
        headers.map(|h| h.value.clone()).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(values(&second), values(&first));
}

#[test]
fn a_key_is_a_secret_header_and_an_own_authorization_wins_over_it() {
    let key = plan(&format!("{URL}api-key = \"k\"\n[load]\nrate = 5"));
    assert_eq!(key.target.headers.len(), 1);
    assert_eq!(key.target.headers[0].value, "Bearer k");
    for secret in ["Bearer k", "\"k\""] {
        assert!(!format!("{key:?}").contains(secret), "{key:?}");
    }
    let own = plan(&format!("{URL}api-key = \"k\"\nheader = [\"authorization: Own x\"]\n[load]\nrate = 5"));
    assert_eq!(own.target.headers.len(), 1);
    assert_eq!(own.target.headers[0].value, "Own x");
}
