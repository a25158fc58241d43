//! Why the sentinels led to no primary.

use std::io;

use queue_core::Error;
use redis::{ErrorKind, RedisError};

use crate::{
    connection::{Connector, ServerConnector},
    error::cannot_connect,
};

/// Why one sentinel led to no primary.
#[derive(Debug)]
pub(super) struct Miss {
    text: String,
    /// Whether a person has to act.
    lasts: bool,
    /// Whether nobody answered at the sentinel's address.
    is_absent: bool,
}

impl Miss {
    /// The sentinel did not answer the question.
    pub(super) fn of_sentinel(error: RedisError, sentinel: &ServerConnector) -> Self {
        let place = sentinel.place();
        let is_login = error.kind() == ErrorKind::AuthenticationFailed
            || matches!(error.code(), Some("NOAUTH" | "WRONGPASS" | "NOPERM"));
        if is_login {
            let text = one_line(&error);
            return Self::lasting(format!(
                "the sentinel {place} refuses the login: {text} (check sentinel_username and \
                 sentinel_password in the URL)"
            ));
        }
        if error
            .detail()
            .is_some_and(|text| text.starts_with("unknown command"))
        {
            return Self::lasting(format!(
                "{place} is no sentinel (name sentinels, whose own port is 26379, or use redis:// \
                 for one server)"
            ));
        }
        let is_absent = error.is_io_error();
        Self {
            is_absent,
            ..Self::message(&cannot_connect(error, &format!("the sentinel {place}")))
        }
    }

    /// The sentinel replied that it does not watch this service.
    pub(super) fn unknown(service: &str, sentinel: &ServerConnector) -> Self {
        let place = sentinel.place();
        Self::lasting(format!(
            "the sentinel {place} knows no service {service:?} (its `sentinel monitor` names them)"
        ))
    }

    /// The server that the sentinel named refused the connection.
    pub(super) fn of_server(
        error: RedisError,
        server: &ServerConnector,
        sentinel: &ServerConnector,
    ) -> Self {
        let error = cannot_connect(error, &server.address());
        let place = sentinel.place();
        Self {
            text: format!("the sentinel {place} names a server: {error}"),
            ..Self::message(&error)
        }
    }

    /// The server that the sentinel named is a replica.
    pub(super) fn no_primary(server: &ServerConnector, sentinel: &ServerConnector) -> Self {
        let (server, place) = (server.place(), sentinel.place());
        Self {
            text: format!(
                "the sentinel {place} names {server}, which is a replica: a failover is under way, \
                 or this sentinel is cut off"
            ),
            lasts: false,
            is_absent: false,
        }
    }

    fn message(error: &Error) -> Self {
        Self {
            text: error.to_string(),
            lasts: !error.is_transient(),
            is_absent: false,
        }
    }

    fn lasting(text: String) -> Self {
        Self {
            text,
            lasts: true,
            is_absent: false,
        }
    }
}

/// One error for all misses. It is permanent if the misses of all sentinels that replied are permanent.
pub(super) fn explain(misses: &[Miss]) -> RedisError {
    let texts: Vec<_> = misses.iter().map(|miss| miss.text.as_str()).collect();
    let text = texts.join("; ");
    let mut answered = misses.iter().filter(|miss| !miss.is_absent).peekable();
    if answered.peek().is_some() && answered.all(|miss| miss.lasts) {
        return (ErrorKind::InvalidClientConfig, "Sentinel", text).into();
    }
    io::Error::other(text).into()
}

fn one_line(error: &RedisError) -> String {
    let text = error
        .detail()
        .map_or_else(|| error.to_string(), str::to_owned);
    text.lines().collect::<Vec<_>>().join(" ")
}
