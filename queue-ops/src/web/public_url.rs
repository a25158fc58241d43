//! The address under which browsers reach a page.

use axum::http::uri::Authority;
use queue_core::Error;

/// An address, without a query: `https://ops.example.com/queues`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublicUrl {
    /// The scheme and the host, as a browser names an origin.
    pub(super) origin: String,
    /// The host, with its port if that is not the scheme's own.
    pub(super) host: String,
    /// The path before the page's own paths. It is empty, or begins with `/` and does not end with it.
    pub(super) base: String,
    /// Whether browsers speak TLS to it.
    pub(super) is_secure: bool,
}

impl PublicUrl {
    pub(super) fn new(url: &str) -> Result<Self, Error> {
        let invalid = |why: &str| {
            Error::invalid(format!(
                "the public address {url:?}: {why}, as in https://ops.example.com/queues"
            ))
        };
        let lower = url.trim().to_ascii_lowercase();
        let (is_secure, own_port) = match lower.split_once("://") {
            Some(("https", _)) => (true, ":443"),
            Some(("http", _)) => (false, ":80"),
            _ => return Err(invalid("it begins with https:// or http://")),
        };
        let rest = url.trim().split_once("://").map_or("", |(_, rest)| rest);
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix(own_port).unwrap_or(&host);
        let is_host = host
            .parse::<Authority>()
            .is_ok_and(|one| !one.host().is_empty());
        if !is_host || host.contains('@') {
            return Err(invalid("it names a host, and perhaps a port"));
        }
        let base = path.trim_end_matches('/');
        if !is_base(base) {
            return Err(invalid("its path has letters, digits and - . _ ~ % alone"));
        }
        let scheme = if is_secure { "https" } else { "http" };
        Ok(Self {
            origin: format!("{scheme}://{host}"),
            host: host.to_owned(),
            base: base.to_owned(),
            is_secure,
        })
    }
}

/// Whether a path can precede the page's own paths: in a link, in a header, and in the path of a cookie. A path that
/// begins with `//` would lead to another host.
pub(super) fn is_base(path: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%/:@!$&+=".contains(&byte);
    path.is_empty() || (path.starts_with('/') && !path.contains("//") && path.bytes().all(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_an_origin_a_host_and_a_path() {
        for (url, origin, host, base) in [
            (
                "https://ops.example.com",
                "https://ops.example.com",
                "ops.example.com",
                "",
            ),
            (
                "HTTPS://Ops.Example.com:443/",
                "https://ops.example.com",
                "ops.example.com",
                "",
            ),
            (
                "http://ops:8080/a/b/",
                "http://ops:8080",
                "ops:8080",
                "/a/b",
            ),
            (
                "https://[::1]:7700/Q%20x",
                "https://[::1]:7700",
                "[::1]:7700",
                "/Q%20x",
            ),
            ("http://ops:443", "http://ops:443", "ops:443", ""),
        ] {
            let read = PublicUrl::new(url).expect(url);
            assert_eq!(
                (&*read.origin, &*read.host, &*read.base),
                (origin, host, base),
                "{url}"
            );
            assert_eq!(read.is_secure, origin.starts_with("https"), "{url}");
        }
    }

    #[test]
    fn an_address_that_is_none_is_named_with_an_example() {
        for url in [
            "",
            "ops.example.com",
            "ftp://ops",
            "https://",
            "https:///x",
            "https://u@ops/",
            "https://a b/",
            "https://ops//evil.example",
            "https://ops/a;b",
            "https://ops/?q",
            "https://ops/#x",
            "https://ops?x",
            "https://ops/\"",
            "https://ops/ü",
        ] {
            let error = PublicUrl::new(url).expect_err(url).to_string();
            assert!(
                error.contains(&format!("{url:?}")) && error.contains("as in https://"),
                "{error}"
            );
        }
    }
}
