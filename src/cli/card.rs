//! Where the capacity card lies, its reading for a plan and its writing; judges none of its numbers.

use super::Refusal;
use crate::host::Facts;
use crate::plan::{Card, CardHost, Cost};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// What `--card` says to plan with no card at all.
pub(super) const NONE: &str = "none";

/// This machine, as a card names it.
pub(super) fn host(facts: &Facts) -> CardHost {
    CardHost {
        hostname: facts.hostname.clone(),
        kernel: facts.kernel.clone(),
        cpu_model: facts.cpu_model.clone(),
    }
}

/// Where the card lies unless told: nowhere, where the environment names no home.
pub(super) fn usual_place() -> Option<PathBuf> {
    place_in(|name| std::env::var_os(name))
}

/// `$XDG_CONFIG_HOME/lowrho/capacity.json`, or the same below `$HOME/.config` (XDG base directories: a path that is
/// not absolute is ignored).
fn place_in(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let directory = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = directory("XDG_CONFIG_HOME").or_else(|| directory("HOME").map(|home| home.join(".config")));
    config.map(|config| config.join("lowrho").join("capacity.json"))
}

/// What plans are to be made with: the card that was `asked` for, which must hold here; else the one at `usual`, where
/// there is one that holds.
///
/// # Errors
/// The card asked for cannot be read or does not hold here.
pub(super) fn cost(asked: Option<&str>, usual: Option<&Path>, facts: &Facts) -> Result<Cost, Refusal> {
    let here = host(facts);
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path)?;
        Card::read(&text, &here).map_err(|refusal| io::Error::new(io::ErrorKind::InvalidData, refusal))
    };
    match (asked, usual) {
        (Some(NONE), _) | (None, None) => Ok(Cost::default()),
        (Some(file), _) => match read(Path::new(file)) {
            Ok(card) => Ok(card.cost(file)),
            Err(why) => Err(Refusal::File(format!(
                "--card {file}: {why}; accepted: none, or a card that lowrho floor wrote on this host"
            ))),
        },
        (None, Some(path)) => match read(path) {
            Ok(card) => Ok(card.cost(&path.display().to_string())),
            // Nobody has measured here yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Cost::default()),
            Err(why) => Ok(Cost::refused(format!("{}: {why}", path.display()))),
        },
    }
}

/// Writes a card, and its folder where that is missing; a reader sees the old card or the new one, never a part.
///
/// # Errors
/// When the system refuses, with the path.
pub(super) fn write(path: &Path, card: &Card) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(named)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    std::fs::write(&beside, card.to_json()).and_then(|()| std::fs::rename(&beside, path)).map_err(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_place_follows_the_environment() {
        let place = |set: &[(&str, &str)]| {
            place_in(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        let at = |path: &str| Some(PathBuf::from(path));
        assert_eq!(place(&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")]), at("/x/lowrho/capacity.json"));
        assert_eq!(place(&[("XDG_CONFIG_HOME", "x"), ("HOME", "/h")]), at("/h/.config/lowrho/capacity.json"));
        assert_eq!(place(&[("HOME", "")]), None);
    }
}
