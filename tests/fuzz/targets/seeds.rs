//! Writes the cases as a corpus: `seeds FOLDER`.
#![allow(dead_code, reason = "only the loader is used")]

#[path = "../../wire/case.rs"]
mod case;

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).ok_or_else(|| io::Error::other("usage: seeds FOLDER"))?;
    let (responses, events) = (Path::new(&folder).join("response"), Path::new(&folder).join("event"));
    fs::create_dir_all(&responses)?;
    fs::create_dir_all(&events)?;
    for case in case::streams() {
        let wire = case.wire();
        // One choice, FIN at the end, reads of 16 bytes.
        fs::write(responses.join(&case.id), [&[0x40, 16][..], &wire].concat())?;
        let lines = wire.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data: "));
        for (n, payload) in lines.enumerate() {
            fs::write(events.join(format!("{}-{n}", case.id)), payload)?;
        }
    }
    Ok(())
}
