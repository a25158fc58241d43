//! Refuses URLs with text that the parser would skip or change.

use std::borrow::Cow;

/// Why a URL of a single server cannot be read as it is written. `rest` is the text after the scheme and its colon.
///
/// The reason shows nothing of the URL, because any part may belong to a password.
pub(super) fn flaw(rest: &str, is_socket: bool) -> Option<&'static str> {
    if let Some(flaw) = flaw_of_signs(rest) {
        return Some(flaw);
    }
    let (rest, _) = without_zone(rest);
    let place = rest.split_once('?').map_or(&*rest, |(place, _)| place);
    match (place.strip_prefix("//"), is_socket) {
        (Some(place), true) => match place.split_once('/') {
            Some(("", path)) => flaw_of_path(path),
            _ => Some("a socket has a path alone, which begins with a / behind the ://"),
        },
        (None, true) => flaw_of_path(place),
        (Some(place), false) => {
            let (authority, path) = place.split_once('/').unwrap_or((place, ""));
            if !path.is_empty() && !is_number(path) {
                return Some("behind the host stands the number of a database, and no more");
            }
            let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
            flaw_of_login(login).or_else(|| flaw_of_host(host))
        }
        (None, false) => Some("no // follows its scheme"),
    }
}

/// Whether this is a number in digits alone. A negative number is accepted, because it gets a better error later.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Why a URL of any form cannot be read as it is written.
pub(super) fn flaw_of_signs(url: &str) -> Option<&'static str> {
    if url.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Some(
            "it has a blank, or a character that is not printed: write a blank in a password as %20",
        );
    }
    // The text after a # may be the rest of a password.
    url.contains('#')
        .then_some("it has a # in it: a # in a user's name or password is written as %23")
}

/// A user without a password would not be logged in. An empty password is written `user:@`.
fn flaw_of_login(login: &str) -> Option<&'static str> {
    (!login.is_empty() && !login.contains(':')).then_some(
        "it has a user and no password: write user:password@ or :password@, and user:@ for an empty password",
    )
}

/// The positions of the `%25` before a zone, which a URL parser does not accept (RFC 6874), and of the `]` after it, as
/// in `[fe80::1%25eth0]`.
fn zone_of(rest: &str) -> Option<(usize, usize)> {
    let authority = rest.strip_prefix("//")?;
    let end = 2 + authority.find(['/', '?']).unwrap_or(authority.len());
    let host = rest[..end].rfind('@').map_or(2, |at| at + 1);
    let open = host + rest[host..end].find('[')?;
    let close = open + rest[open..end].find(']')?;
    let zone = open + rest[open..close].find("%25")?;
    let text = &rest[zone + 3..close];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '~' | '-');
    (!text.is_empty() && text.chars().all(is_plain)).then_some((zone, close))
}

/// The same URL without the zone of its host, and the zone: the interface of a link-local address.
pub(super) fn without_zone(rest: &str) -> (Cow<'_, str>, Option<&str>) {
    match zone_of(rest) {
        Some((zone, close)) => {
            let whole = [&rest[..zone], &rest[close..]].concat();
            (whole.into(), Some(&rest[zone + 3..close]))
        }
        None => (rest.into(), None),
    }
}

fn flaw_of_host(host: &str) -> Option<&'static str> {
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (host, None),
    };
    if host.is_empty() {
        return Some("it names no host");
    }
    if host.contains(',') {
        return Some(
            "it names several hosts: of sentinels they stand behind redis+sentinel://, of a cluster behind \
             redis+cluster://",
        );
    }
    if !host.is_ascii() || host.contains('%') {
        return Some("its host has other characters than a host's name has");
    }
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    match port {
        Some(port) if !port.bytes().all(|byte| byte.is_ascii_digit()) || !is_port(port) => {
            Some("its port is no number from 1 to 65535")
        }
        _ => None,
    }
}

/// A parser removes `.`, and the segment before a `..`, although a link may lead elsewhere.
fn flaw_of_path(path: &str) -> Option<&'static str> {
    let dots = |segment: &str| {
        matches!(
            &*segment.replace("%2e", ".").replace("%2E", "."),
            "." | ".."
        )
    };
    path.split('/')
        .any(dots)
        .then_some("the path of its socket has a . or .. in it: write where it leads")
}
