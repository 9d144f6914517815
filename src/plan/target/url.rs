//! The text of a URL to an endpoint; resolves no name and opens nothing.

use super::Endpoint;
use crate::plan::listen;
use crate::wire::Api;

/// A URL taken apart, for one API.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Address {
    /// Where requests go.
    pub(super) endpoint: Endpoint,
    /// `user:password` as it stood before the host.
    pub(super) user_info: Option<String>,
}

/// Why a URL is refused, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UrlError(pub(super) &'static str);

/// What is accepted as a URL.
pub(super) const ACCEPTED: &str = "http[s]://host[:port][/base] or unix:PATH[:/base]";

/// Takes `url` apart. The path of `api` is added to the base unless it is there already, `/v1` never twice.
pub(super) fn parse(url: &str, api: Api) -> Result<Address, UrlError> {
    if url.bytes().any(|b| b <= b' ' || b == 0x7f) {
        return Err(UrlError("a URL has no blanks and no control characters in it"));
    }
    if let Some(rest) = url.strip_prefix("unix:") {
        return unix(rest, api);
    }
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
        None => return Err(UrlError("write the scheme too: http://HOST:PORT")),
    };
    let secure = match scheme.as_str() {
        "http" => false,
        "https" => true,
        _ => return Err(UrlError("the schemes are http and https")),
    };
    if rest.contains('#') {
        return Err(UrlError("a fragment (#...) is never sent: leave it out"));
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user_info, host_port) = match authority.rsplit_once('@') {
        Some((user, host_port)) => (Some(user.to_owned()), host_port),
        None => (None, authority),
    };
    let (host, port) = host_and_port(host_port, if secure { 443 } else { 80 })?;
    let (path, base) = path_and_base(path, api);
    let endpoint = Endpoint { secure, ..Endpoint::of_host(host, port, path, base) };
    Ok(Address { endpoint, user_info })
}

/// The path of a Unix socket, and after a colon that of the server's base, as nginx writes it.
fn unix(rest: &str, api: Api) -> Result<Address, UrlError> {
    let (socket, path) = rest.split_once(':').unwrap_or((rest, ""));
    if listen::check_path(socket).is_err() || !socket.starts_with('/') {
        return Err(UrlError(
            "write the path of the socket from the root, of at most 107 bytes: unix:/run/llm.sock",
        ));
    }
    if !(path.is_empty() || path.starts_with('/')) {
        return Err(UrlError("after the socket's path comes :/BASE or nothing: unix:/run/llm.sock:/v1"));
    }
    if path.contains('#') {
        return Err(UrlError("a fragment (#...) is never sent: leave it out"));
    }
    let (path, base) = path_and_base(path, api);
    // What a Host header says of a socket nobody looks at; `--header 'Host: NAME'` says another.
    let endpoint = Endpoint::of_host("localhost".into(), 80, path, base);
    Ok(Address { endpoint: Endpoint { socket: Some(socket.into()), ..endpoint }, user_info: None })
}

/// The path that is asked, with its query, and the server's base.
fn path_and_base(path: &str, api: Api) -> (String, String) {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let base = base_of(path, api);
    (format!("{base}{}{query}", api.path()), base)
}

fn host_and_port(text: &str, usual: u16) -> Result<(String, u16), UrlError> {
    let (host, port) = if let Some(inside) = text.strip_prefix('[') {
        let (host, after) = inside.split_once(']').ok_or(UrlError("an IPv6 address ends with ]"))?;
        if host.parse::<core::net::Ipv6Addr>().is_err() {
            return Err(UrlError("what stands in [ ] is not an IPv6 address"));
        }
        match after {
            "" => (host, None),
            _ => (host, Some(after.strip_prefix(':').ok_or(UrlError("after ] comes :PORT or nothing"))?)),
        }
    } else {
        match text.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(UrlError("write an IPv6 address in brackets: http://[::1]:8000"));
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    if host.is_empty() {
        return Err(UrlError("the host is missing"));
    }
    if !host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~:".contains(&b)) {
        return Err(UrlError(
            "a host is made of letters, digits, '-', '.' and '_' (write others in punycode)",
        ));
    }
    let port = match port {
        None => usual,
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port > 0 && digits.bytes().all(|b| b.is_ascii_digit()) => port,
            _ => return Err(UrlError("a port is a number from 1 to 65535")),
        },
    };
    Ok((host.to_owned(), port))
}

/// What stands before `/v1`: the path without its closing slashes, the API's own path and `/v1`.
fn base_of(path: &str, api: Api) -> String {
    let path = path.trim_end_matches('/');
    let base = path.strip_suffix(api.path()).or_else(|| path.strip_suffix("/v1")).unwrap_or(path);
    base.trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(url: &str, api: Api) -> String {
        parse(url, api).unwrap().endpoint.path
    }

    #[test]
    fn the_apis_path_is_added_once() {
        for (url, expected) in [
            ("http://h", "/v1/chat/completions"),
            ("http://h/", "/v1/chat/completions"),
            ("http://h/v1", "/v1/chat/completions"),
            ("http://h/v1/", "/v1/chat/completions"),
            ("http://h/proxy", "/proxy/v1/chat/completions"),
            ("http://h/proxy/v1", "/proxy/v1/chat/completions"),
            ("http://h/v1/chat/completions", "/v1/chat/completions"),
            ("http://h/proxy/v1/chat/completions/", "/proxy/v1/chat/completions"),
            ("http://h/v1?key=1", "/v1/chat/completions?key=1"),
            ("http://h?key=1", "/v1/chat/completions?key=1"),
            ("http://h/dev1", "/dev1/v1/chat/completions"),
        ] {
            assert_eq!(path(url, Api::Chat), expected, "{url}");
        }
        assert_eq!(path("http://h/v1", Api::Completions), "/v1/completions");
    }

    #[test]
    fn other_resources_of_the_server_are_found_beside_it() {
        let endpoint = parse("http://h/proxy/v1", Api::Chat).unwrap().endpoint;
        assert_eq!(endpoint.sibling("/v1/models"), "/proxy/v1/models");
    }

    #[test]
    fn hosts_and_ports_are_told_apart() {
        for (url, host, port, authority) in [
            ("http://h", "h", 80, "h"),
            ("HTTP://h:8000/v1", "h", 8000, "h:8000"),
            ("http://127.0.0.1:1", "127.0.0.1", 1, "127.0.0.1:1"),
            ("http://[::1]:8000", "::1", 8000, "[::1]:8000"),
            ("http://[::1]", "::1", 80, "[::1]"),
            ("http://me:pw@my-host.example:65535/", "my-host.example", 65535, "my-host.example:65535"),
        ] {
            let endpoint = parse(url, Api::Chat).unwrap().endpoint;
            assert_eq!((endpoint.host.as_str(), endpoint.port), (host, port), "{url}");
            assert_eq!(endpoint.authority(), authority, "{url}");
        }
    }

    #[test]
    fn tls_has_a_port_of_its_own() {
        for (url, port, shown) in [
            ("https://h/v1", 443, "https://h/v1/completions"),
            ("HTTPS://h:443", 443, "https://h/v1/completions"),
            ("https://h:80", 80, "https://h:80/v1/completions"),
            ("https://[::1]:8443/x", 8443, "https://[::1]:8443/x/v1/completions"),
        ] {
            let endpoint = parse(url, Api::Completions).unwrap().endpoint;
            assert!(endpoint.secure, "{url}");
            assert_eq!((endpoint.port, endpoint.url().as_str()), (port, shown), "{url}");
        }
        let plain = parse("http://h:443", Api::Completions).unwrap().endpoint;
        assert_eq!((plain.secure, plain.url().as_str()), (false, "http://h:443/v1/completions"));
    }

    #[test]
    fn a_unix_socket_has_a_path_and_may_have_a_base() {
        for (url, socket, base, path) in [
            ("unix:/run/llm.sock", "/run/llm.sock", "", "/v1/completions"),
            ("unix:/run/llm.sock:/v1", "/run/llm.sock", "", "/v1/completions"),
            ("unix:/run/llm.sock:/proxy?key=1", "/run/llm.sock", "/proxy", "/proxy/v1/completions?key=1"),
        ] {
            let endpoint = parse(url, Api::Completions).unwrap().endpoint;
            assert_eq!(endpoint.socket.as_deref(), Some(socket), "{url}");
            assert_eq!((endpoint.base.as_str(), endpoint.path.as_str()), (base, path), "{url}");
            assert_eq!(endpoint.authority(), "localhost");
            assert_eq!(parse(&endpoint.url(), Api::Completions).unwrap().endpoint, endpoint, "{url}");
        }
    }

    #[test]
    fn user_info_is_kept_apart_from_the_endpoint() {
        let address = parse("http://me:p@ss@h/v1", Api::Chat).unwrap();
        assert_eq!(address.user_info.as_deref(), Some("me:p@ss"));
        assert_eq!(address.endpoint.url(), "http://h/v1/chat/completions");
    }

    #[test]
    fn what_is_not_a_url_is_refused_with_the_remedy() {
        for (url, remedy) in [
            ("localhost:8000", "write the scheme"),
            ("https://", "host is missing"),
            ("ftp://h", "http and https"),
            ("http://", "host is missing"),
            ("http://:80", "host is missing"),
            ("http://h:0", "1 to 65535"),
            ("http://h:65536", "1 to 65535"),
            ("http://h:+80", "1 to 65535"),
            ("http://h:", "1 to 65535"),
            ("http://::1:8000", "in brackets"),
            ("http://[::1", "ends with ]"),
            ("http://[zz]:1", "not an IPv6"),
            ("http://[::1]8000", ":PORT"),
            ("http://h h", "no blanks"),
            ("unix:", "from the root"),
            ("unix:run/llm.sock", "from the root"),
            ("unix:/run/llm.sock:v1", ":/BASE"),
            ("unix:/run/llm.sock:/#x", "fragment"),
            ("http://h/#x", "fragment"),
            ("http://h\u{e9}", "punycode"),
        ] {
            let UrlError(why) = parse(url, Api::Chat).expect_err(url);
            assert!(why.contains(remedy), "{url}: {why}");
        }
    }
}
