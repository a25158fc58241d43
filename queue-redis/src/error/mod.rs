//! What went wrong, in the words of the contract.

mod refusal;

use std::time::Duration;

use queue_core::{Error, ErrorKind, Outcome};
use redis::{RedisError, ServerError};

pub(crate) use self::refusal::Refusal;

/// Why a request has no answer that can be used.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was sent, and nothing came back in this time.
    Silent(Duration),
    /// The connection broke. What was sent may have run.
    Cut(RedisError),
    /// The server answered with an error.
    Refused(ServerError),
}

impl Failure {
    /// The server does not have the script, and so has not run it.
    pub(crate) fn is_unknown_script(&self) -> bool {
        matches!(self, Self::Refused(error) if Refusal::of(error).code == "NOSCRIPT")
    }

    /// The user may not run the command.
    pub(crate) fn is_not_permitted(&self) -> bool {
        matches!(self, Self::Refused(error) if Refusal::of(error).code == "NOPERM")
    }

    /// The same connection would be refused again and again: the server is a replica now.
    pub(crate) fn calls_for_another_server(&self) -> bool {
        matches!(self, Self::Refused(error) if Refusal::of(error).code == "READONLY")
    }

    /// The error that a caller sees, for a request to the server at `address`.
    pub(crate) fn into_error(self, address: &str) -> Error {
        match self {
            Self::Silent(timeout) => Error::new(
                ErrorKind::Unavailable,
                format!("{address} did not answer within {timeout:?}"),
            )
            .with_outcome(Outcome::Unknown),
            Self::Cut(error) => Error::new(
                ErrorKind::Unavailable,
                format!("the connection to {address} broke: {error}"),
            )
            .with_outcome(Outcome::Unknown)
            .with_source(error),
            Self::Refused(error) => Refusal::of(&error).into_error(address).with_source(error),
        }
    }
}

/// The error for a connection that could not be opened.
pub(crate) fn cannot_connect(error: RedisError, address: &str) -> Error {
    match ServerError::try_from(error) {
        Ok(refusal) => Failure::Refused(refusal).into_error(address),
        Err(error) => {
            let (kind, hint) = match error.kind() {
                redis::ErrorKind::RESP3NotSupported => (
                    ErrorKind::Configuration,
                    ": it is older than Redis 6.2, which is the oldest supported",
                ),
                redis::ErrorKind::AuthenticationFailed => (
                    ErrorKind::Configuration,
                    ": check the user and password in the URL",
                ),
                redis::ErrorKind::InvalidClientConfig => (ErrorKind::Configuration, ""),
                _ => (ErrorKind::Unavailable, ""),
            };
            Error::new(kind, format!("cannot connect to {address}: {error}{hint}"))
                .with_source(error)
        }
    }
}
