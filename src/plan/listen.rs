//! Where a simulator listens, as it is written: ports and Unix sockets, several of them with commas between; opens none.

use core::net::SocketAddr;
use std::fmt;
use std::str::FromStr;

/// The longest path of a Unix socket in bytes: `sun_path` of unix(7), less the zero at its end.
pub(super) const LONGEST_PATH: usize = 107;

/// One place to listen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// A port; 0 = a free one.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(String),
}

/// What is accepted as a place.
pub(super) const ACCEPTED: &str =
    "ADDRESS:PORT or unix:PATH, several with commas, such as 127.0.0.1:8000, [::1]:0 or unix:/run/llm.sock";

/// Reads places with commas between them; never an empty list.
pub(super) fn read(text: &str) -> Result<Vec<Listen>, String> {
    let places: Vec<Listen> =
        text.split(',').map(|place| place.trim().parse()).collect::<Result<_, String>>()?;
    match places.iter().enumerate().find(|(at, place)| !place.is_any() && places[..*at].contains(place)) {
        Some((_, twice)) => Err(format!("{twice} is named twice")),
        None => Ok(places),
    }
}

impl Listen {
    /// Whether it is a port that the kernel chooses: two of these are two ports.
    fn is_any(&self) -> bool {
        matches!(self, Self::Tcp(address) if address.port() == 0)
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some(path) => check_path(path).map(|()| Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| format!("{text:?} is neither")),
        }
    }
}

/// Whether `path` can name a Unix socket.
pub(super) fn check_path(path: &str) -> Result<(), String> {
    if path.is_empty() || path.bytes().any(|b| b == 0) {
        return Err("the path of the Unix socket is missing: unix:/run/llm.sock".into());
    }
    if path.len() > LONGEST_PATH {
        return Err(format!("the path of a Unix socket has at most {LONGEST_PATH} bytes"));
    }
    Ok(())
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written_alike() {
        for text in ["127.0.0.1:0,127.0.0.2:0", "[::1]:8000", "unix:/run/a.sock,127.0.0.1:80"] {
            let places = read(text).unwrap();
            assert_eq!(places.iter().map(ToString::to_string).collect::<Vec<_>>().join(","), text);
        }
        assert_eq!(read("127.0.0.1:0, 127.0.0.1:0").unwrap().len(), 2, "two free ports");
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for (text, why) in [
            ("127.0.0.1", "neither"),
            ("", "neither"),
            ("127.0.0.1:80,", "neither"),
            ("127.0.0.1:80,127.0.0.1:80", "twice"),
            ("unix:", "missing"),
        ] {
            let said = read(text).expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
        assert!(read(&format!("unix:/{}", "x".repeat(107))).unwrap_err().contains("107 bytes"));
    }
}
