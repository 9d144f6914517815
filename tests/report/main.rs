//! The summary and the terminal report: their schema, their text, and that no summary breaks them.
//!
//! `LOWRHO_BLESS=1 cargo test --test report` writes the generated files anew.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod any_summary;
mod findings;
mod sample;
mod schema;
mod sweeps;
mod terminal;

use std::fs;
use std::path::Path;

/// Compares a generated text with the file that holds it; under LOWRHO_BLESS the file is written instead.
fn assert_is_file(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("LOWRHO_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{name} is stale; if the change is meant: LOWRHO_BLESS=1 cargo test --test report\n--- now\n{text}"
    );
}
