//! The sentinels that a URL names, the service that they watch, and how to log in to each.

use queue_core::Result;
use redis::{ProtocolVersion, RedisConnectionInfo};

use crate::connection::{
    hosts::{Form, Hosts},
    parameters::{OF_SENTINELS, Parameters},
    target::Target,
};

const FORM: Form = Form {
    family: "sentinel",
    port: 26379,
    parameters: OF_SENTINELS,
    example: "redis+sentinel://user:password@host:26379,host:26379/service/db",
};

/// What a URL of sentinels says.
pub(in crate::connection) struct Address {
    pub(in crate::connection) sentinels: Vec<Target>,
    pub(in crate::connection) service: String,
    /// How to greet the servers that the sentinels name.
    pub(in crate::connection) primary: Target,
}

/// Whether a URL names sentinels.
pub(in crate::connection) fn names_sentinels(url: &str) -> bool {
    FORM.is_of(url)
}

impl Address {
    /// Reads a URL. No error shows what may be part of a password.
    pub(in crate::connection) fn parse(url: &str) -> Result<Self> {
        let hosts = Hosts::split(url, &FORM)?;
        let (service, database) = hosts.path.split_once('/').unwrap_or((hosts.path, ""));
        if service.is_empty() {
            return Err(hosts.malformed("it names no service behind its hosts"));
        }
        // All that Sentinel takes.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if !service.chars().all(plain) {
            let what = if service.contains([':', '=', '&']) {
                // What stands there may be part of a password.
                "behind its hosts stands the service, then a ? and the parameters".to_owned()
            } else {
                format!("the service {service:?} can have A-Z a-z 0-9 . - _")
            };
            return Err(hosts.malformed(&what));
        }
        let mut sentinels = hosts.targets(database)?;
        let primary = sentinels[0].clone();
        let login = login_to_sentinels(&hosts.parameters);
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
fn login_to_sentinels(parameters: &Parameters) -> RedisConnectionInfo {
    let mut login = RedisConnectionInfo::default()
        .set_protocol(ProtocolVersion::RESP2)
        .set_skip_set_lib_name();
    if let Some(user) = parameters.get("sentinel_username") {
        login = login.set_username(user);
    }
    if let Some(password) = parameters.get("sentinel_password") {
        login = login.set_password(password);
    }
    login
}

#[cfg(test)]
mod tests {
    use queue_core::ErrorKind;
    use redis::ConnectionAddr;

    use super::*;

    const PORT: u16 = FORM.port;

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
            ("redis+sentinel://one", "no service"),
            ("redis+sentinel://one/", "no service"),
            ("redis+sentinel://one//3", "no service"),
            ("redis+sentinel:///orders", "hosts"),
            ("redis+sentinel://one,,two/orders", "hosts"),
            ("redis+sentinel://one:port/orders", "hosts"),
            ("redis+sentinel://one/orders/three", "database"),
            ("redis+sentinel://one/two*words", "two*words"),
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
