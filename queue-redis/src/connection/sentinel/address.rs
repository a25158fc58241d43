//! The sentinels that a URL names, the service that they watch, and how to log in to each.

use queue_core::{Error, ErrorKind, Result};
use redis::{ProtocolVersion, RedisConnectionInfo};

use crate::connection::target::Target;

/// The port of a sentinel whose URL names none.
const PORT: u16 = 26379;
const FORM: &str = "redis+sentinel://user:password@host:26379,host:26379/service/db";
/// The parameters that a URL of sentinels may have.
const KNOWN: &[&str] = &["sentinel_username", "sentinel_password", "prefix"];

/// What a URL of sentinels says.
pub(super) struct Address {
    pub(super) sentinels: Vec<Target>,
    pub(super) service: String,
    /// How to greet the servers that the sentinels name.
    pub(super) primary: Target,
}

/// The scheme of one server, for a scheme of sentinels.
fn scheme_of_server(scheme: &str) -> Option<&'static str> {
    Some(match scheme {
        "redis+sentinel" => "redis",
        "rediss+sentinel" => "rediss",
        "valkey+sentinel" => "valkey",
        "valkeys+sentinel" => "valkeys",
        _ => return None,
    })
}

/// Whether a URL names sentinels.
pub(in crate::connection) fn names_sentinels(url: &str) -> bool {
    url.split_once(':')
        .is_some_and(|(scheme, _)| scheme_of_server(scheme).is_some())
}

/// What stands behind the question mark of a URL of sentinels, as that of a URL that the redis crate
/// reads; and the parameters that it may have.
pub(crate) fn parameters(url: &str) -> Option<(String, &'static [&'static str])> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    names_sentinels(url).then(|| (format!("redis://localhost?{query}"), KNOWN))
}

impl Address {
    /// Reads a URL. No error shows what may be part of a password.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once(':').unwrap_or_default();
        let Some(server) = scheme_of_server(scheme) else {
            // What stands there instead may be part of a password.
            let what = "it does not begin with redis+sentinel://";
            return Err(malformed("redis+sentinel", what));
        };
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(malformed(scheme, "no // follows its scheme"));
        };
        if rest.contains('#') {
            return Err(malformed(scheme, "write a # in a name or password as %23"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if path.contains('@') || query.contains('@') {
            let way_out = "write a / in a name or password as %2F, and a ? as %3F";
            return Err(malformed(scheme, way_out));
        }
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (format!("{login}@"), hosts),
            None => (String::new(), authority),
        };
        let (service, database) = path.split_once('/').unwrap_or((path, ""));
        if service.is_empty() {
            return Err(malformed(scheme, "it names no service behind its hosts"));
        }
        // All that Sentinel takes.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if !service.chars().all(plain) {
            let what = if hosts.is_empty() {
                "it names no hosts".to_owned()
            } else if service.contains([':', '=', '&']) {
                // What stands there may be part of a password.
                "behind its hosts stands the service, then a ? and the parameters".to_owned()
            } else {
                format!("the service {service:?} can have A-Z a-z 0-9 . - _")
            };
            return Err(malformed(scheme, &what));
        }
        let mut sentinels = Vec::new();
        for host in hosts.split(',') {
            let port = match host.rsplit_once(':') {
                Some((_, port)) if !port.contains(']') => String::new(),
                _ => format!(":{PORT}"),
            };
            // The rest is as in a URL of one server.
            let one = format!("{server}://{login}{host}{port}/{database}");
            let target = Target::parse(&one).map_err(|error| match error.kind() {
                // Of a URL with one host only: it would mislead.
                ErrorKind::Invalid => malformed(
                    scheme,
                    "one of its hosts or ports, the login or the database is wrong",
                ),
                _ => error,
            })?;
            sentinels.push(target);
        }
        let primary = sentinels[0].clone();
        let login = login_to_sentinels(query);
        for sentinel in &mut sentinels {
            sentinel.handshake = login.clone();
        }
        Ok(Self {
            sentinels,
            service: service.to_owned(),
            primary,
        })
    }
}

/// Sentinels have users and passwords of their own, and no databases.
fn login_to_sentinels(query: &str) -> RedisConnectionInfo {
    let mut login = RedisConnectionInfo::default()
        .set_protocol(ProtocolVersion::RESP2)
        .set_skip_set_lib_name();
    let url = redis::parse_redis_url(&format!("redis://localhost?{query}"));
    for (name, value) in url.iter().flat_map(|url| url.query_pairs()) {
        match &*name {
            "sentinel_username" => login = login.set_username(&*value),
            "sentinel_password" => login = login.set_password(&*value),
            _ => {}
        }
    }
    login
}

fn malformed(scheme: &str, what: &str) -> Error {
    Error::invalid(format!(
        "the {scheme} URL is not understood: {what}; write it as {FORM}"
    ))
}

#[cfg(test)]
mod tests {
    use redis::ConnectionAddr;

    use super::*;

    #[test]
    fn hosts_service_and_logins_are_read() {
        let url = "redis+sentinel://me:p%40ss@one,two:5000,[::1],[::2]:7/orders.eu/3\
                   ?sentinel_username=s&sentinel_password=a%26b&prefix=shop";
        let address = Address::parse(url).expect("good");
        let hosts: Vec<_> = address
            .sentinels
            .iter()
            .map(|sentinel| &sentinel.server)
            .collect();
        let host = |host: &str, port| ConnectionAddr::Tcp(host.to_owned(), port);
        let (one, two) = (host("one", PORT), host("two", 5000));
        assert_eq!(hosts, [&one, &two, &host("::1", PORT), &host("::2", 7)]);
        assert_eq!(address.service, "orders.eu");
        let primary = &address.primary.handshake;
        assert_eq!(primary.username(), Some("me"));
        assert_eq!(primary.password(), Some("p@ss"));
        assert_eq!(primary.db(), 3);
        for sentinel in &address.sentinels {
            assert_eq!(sentinel.handshake.username(), Some("s"));
            assert_eq!(sentinel.handshake.password(), Some("a&b"));
            assert_eq!(sentinel.handshake.db(), 0);
        }
    }

    #[test]
    fn a_primarys_password_is_not_told_to_sentinels() {
        let address = Address::parse("valkey+sentinel://:secret@one/orders").expect("good");
        assert_eq!(address.primary.handshake.password(), Some("secret"));
        assert_eq!(address.sentinels[0].handshake.password(), None);
    }

    #[test]
    fn what_is_wrong_is_said_without_a_password() {
        for (url, named) in [
            ("redis+sentinel:one/orders", "//"),
            ("redis+sentinel///me/hunter2@one:6379", "does not begin"),
            ("redis+sentinel://one", "no service"),
            ("redis+sentinel://one/", "no service"),
            ("redis+sentinel://one//3", "no service"),
            ("redis+sentinel:///orders", "hosts"),
            ("redis+sentinel://one,,two/orders", "hosts"),
            ("redis+sentinel://one:port/orders", "hosts"),
            ("redis+sentinel://one/orders/three", "database"),
            ("redis+sentinel://one/two words", "two words"),
            ("redis+sentinel://one/a&sentinel_password=hunter2", "a ?"),
            ("redis+sentinel:///me:hunter2:one", "hosts"),
            ("redis+sentinel://:hunter/2@one/orders", "%2F"),
            ("redis+sentinel://:hunter?2@one/orders", "%3F"),
            ("redis+sentinel://:hunter#2@one/orders", "%23"),
            ("redis+sentinel://me:hunter2@one:x/orders", "hosts"),
        ] {
            let Err(error) = Address::parse(url) else {
                panic!("{url} is read");
            };
            assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
            let text = error.to_string();
            assert!(text.contains(named), "{url}: {text}");
            assert!(!text.contains("hunter"), "{url}: {text}");
        }
    }
}
