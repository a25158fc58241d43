//! Failures of requests, and the errors that callers see.

mod lack;
mod meaning;
mod refusal;

use std::{error::Error as StdError, fmt, time::Duration};

use queue_core::{Error, ErrorKind, Outcome, in_millis, with_sources};
use redis::{RedisError, ServerError};

pub use self::{
    lack::Lack,
    meaning::{CLUSTER, LOGIN, Meaning, NO_CLUSTER, OwnMeanings, TOO_OLD},
    refusal::{Refusal, SlotRefusal},
};

/// The reason why a request has no usable reply.
#[derive(Debug)]
pub enum Failure {
    /// The request was sent, and the server was silent for this time.
    Silent(Duration),
    /// The connection broke. The request may have run.
    Cut(RedisError),
    /// The connection's replies belonged to other requests, perhaps also this one's.
    OutOfStep,
    /// The server replied with an error.
    Refused(ServerError),
}

impl Failure {
    /// The server does not have the script, and so did not run it.
    pub fn is_unknown_script(&self) -> bool {
        matches!(self, Self::Refused(error) if Refusal::of(error).code == "NOSCRIPT")
    }

    /// The server reports that a part of the request is too large, and ends the connection.
    pub fn is_of_size(&self) -> bool {
        matches!(self, Self::Refused(error) if Refusal::of(error).message.contains(TOO_LARGE))
    }

    /// The server does not serve this slot of its cluster, and did nothing.
    pub fn is_of_another_node(&self) -> bool {
        matches!(self, Self::Refused(error) if Refusal::of(error).slot().is_some())
    }

    /// The server would keep refusing this connection: it is a replica now, or asks for a password again.
    pub fn calls_for_another_server(&self) -> bool {
        let Self::Refused(error) = self else {
            return false;
        };
        let code = Refusal::of(error).code;
        matches!(code, "READONLY" | "MASTERDOWN" | "UNBLOCKED" | "NOAUTH")
    }

    /// The error that a caller sees, for a request of this crate's own to the server at `address`.
    pub fn into_error(self, address: &str) -> Error {
        self.into_error_of(address, |_| None)
    }

    /// The same for a request of an owner who knows the meanings of more refusals.
    pub fn into_error_of(self, address: &str, own: OwnMeanings) -> Error {
        let error = match self {
            Self::Silent(timeout) => Error::new(
                ErrorKind::Unavailable,
                format!("{address} did not answer within {}", in_millis(timeout)),
            )
            .with_outcome(Outcome::Unknown),
            Self::Cut(error) => Error::new(
                ErrorKind::Unavailable,
                format!("the connection to {address} broke: {}", cause(&error)),
            )
            .with_outcome(Outcome::Unknown),
            Self::OutOfStep => Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{address} answered requests with other requests' replies, so this one's answer \
                     is not known: something between drops replies or doubles them"
                ),
            )
            .with_outcome(Outcome::Unknown),
            Self::Refused(error) => Refusal::of(&error).into_error(address, own),
        };
        error.with_server(address)
    }
}

/// A server's words for a part of a request that is larger than its `proto-max-bulk-len`.
const TOO_LARGE: &str = "Protocol error: invalid bulk length";

/// The redis crate's words for a `SELECT` that the server refused. Of the server's error it keeps only the text.
const REFUSED_DATABASE: &str = "Redis server refused to switch database";

/// Why the server will never let this user use this database, and the remedy. A busy server refuses as well, but that
/// is transient.
fn no_database(error: &RedisError) -> Option<(String, &'static str)> {
    if !error.to_string().starts_with(REFUSED_DATABASE) {
        return None;
    }
    let text = error.detail()?;
    let ways_out = [
        (
            "DB index",
            "it has no database of this number: name another in the URL, or raise its `databases`",
        ),
        ("cluster mode", CLUSTER),
        (
            "no permissions",
            "allow its user SELECT, or leave the database out of the URL",
        ),
    ];
    let mut fitting = ways_out
        .into_iter()
        .filter(|(part, _)| text.contains(*part));
    let (_, way_out) = fitting.next()?;
    Some((text.to_owned(), way_out))
}

/// The mark of a refusal because of a key's type. The errors of the redis crate are no sources: their texts are in the
/// messages, and their types are of a version that this crate may change.
#[derive(Debug)]
struct WrongType;

impl fmt::Display for WrongType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server did nothing, because of a key's type")
    }
}

impl StdError for WrongType {}

/// Whether the server found a key of another type than a script expects.
pub fn is_wrong_type(error: &Error) -> bool {
    let source = error.source();
    source.is_some_and(|source| source.is::<WrongType>())
}

/// The error for a connection that did not open.
pub fn cannot_connect(error: RedisError, address: &str) -> Error {
    match ServerError::try_from(error) {
        Ok(refusal) => Failure::Refused(refusal).into_error(address),
        Err(error) => {
            if let Some((text, way_out)) = no_database(&error) {
                let message = format!("{address} cannot be used: {text} ({way_out})");
                return Error::new(ErrorKind::Configuration, message);
            }
            let (kind, hint) = match error.kind() {
                redis::ErrorKind::RESP3NotSupported => (ErrorKind::Configuration, TOO_OLD),
                redis::ErrorKind::AuthenticationFailed => (ErrorKind::Configuration, LOGIN),
                redis::ErrorKind::InvalidClientConfig => (ErrorKind::Configuration, ""),
                _ if error.is_connection_refusal() => (ErrorKind::Unavailable, meaning::NO_SERVER),
                _ => (ErrorKind::Unavailable, ""),
            };
            let cause = match error.detail() {
                // This crate's own words, for a person to act on.
                Some(text) if error.kind() == redis::ErrorKind::InvalidClientConfig => {
                    text.to_owned()
                }
                _ => cause(&error),
            };
            let hint = match hint {
                "" => String::new(),
                hint => format!(": {hint}"),
            };
            Error::new(kind, format!("cannot connect to {address}: {cause}{hint}"))
                .with_server(address)
        }
    }
}

/// The reason why a connection ended, in one line.
fn cause(error: &RedisError) -> String {
    let text = error.to_string();
    // The redis crate's words for any end, and the words of rustls for an end without a close message.
    if text == "broken pipe" || text.contains("close_notify") {
        return "the other side closed it".to_owned();
    }
    if error.kind() == redis::ErrorKind::Parse {
        let cause = if text.contains("end of input") {
            "it was cut off in the middle of an answer"
        } else {
            "what came is not an answer of Redis"
        };
        return cause.to_owned();
    }
    with_sources(error).lines().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::io;

    use queue_testing::chain;
    use redis::{AsyncConnectionConfig, RedisConnectionInfo, aio::MultiplexedConnection};
    use tokio::io::AsyncWriteExt;

    use super::*;

    fn message_of(error: RedisError) -> String {
        let error = Failure::Cut(error).into_error("here");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.outcome(), Outcome::Unknown);
        let text = chain::texts(&error).join(": ");
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    }

    #[test]
    fn the_end_of_a_connection_names_its_cause() {
        let closed = message_of(io::Error::from(io::ErrorKind::BrokenPipe).into());
        assert!(closed.contains("the other side closed it"), "{closed}");
        let reset = message_of(io::Error::from_raw_os_error(104).into());
        assert!(reset.contains("reset"), "{reset}");
        let nonsense = redis::parse_redis_value(b"HTTP/1.1 400 Bad Request\r\n");
        let nonsense = message_of(nonsense.expect_err("another protocol"));
        assert!(nonsense.contains("not an answer of Redis"), "{nonsense}");
    }

    fn refused(answer: &str) -> Failure {
        let answer = redis::parse_redis_value(format!("-{answer}\r\n").as_bytes());
        match answer {
            Ok(redis::Value::ServerError(refusal)) => Failure::Refused(refusal),
            other => panic!("{other:?} is no refusal"),
        }
    }

    #[test]
    fn only_refusals_of_every_call_cost_the_connection() {
        let costs = |answer| refused(answer).calls_for_another_server();
        for lasting in [
            "READONLY You can't write against a read only replica.",
            "MASTERDOWN Link with MASTER is down",
            "UNBLOCKED force unblock from blocking operation",
            "NOAUTH Authentication required.",
        ] {
            assert!(costs(lasting), "{lasting}");
        }
        for passing in [
            "OOM command not allowed when used memory > 'maxmemory'.",
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "NOPERM this user has no permissions to run the 'evalsha' command",
            "BUSY Redis is busy running a script.",
        ] {
            assert!(!costs(passing), "{passing}");
            let error = refused(passing).into_error("here");
            let texts = chain::texts(&error);
            assert_eq!(
                is_wrong_type(&error),
                passing.starts_with("WRONGTYPE"),
                "{texts:?}"
            );
            assert!(texts[0].contains(passing), "{texts:?}");
        }
        assert!(!Failure::Silent(Duration::ZERO).calls_for_another_server());
    }

    #[test]
    fn permanent_connect_errors_name_the_way_out() {
        for (kind, named) in [
            (redis::ErrorKind::RESP3NotSupported, "6.2"),
            (redis::ErrorKind::AuthenticationFailed, "password"),
            (redis::ErrorKind::InvalidClientConfig, "here"),
        ] {
            let error = cannot_connect((kind, "refused").into(), "here");
            assert_eq!(chain::texts(&error).len(), 1, "{error}");
            assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
            assert!(error.to_string().contains(named), "{error}");
        }
        let error = cannot_connect((redis::ErrorKind::Io, "refused").into(), "here");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = cannot_connect(refused.into(), "here");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("startup_timeout"), "{error}");
        // This crate's own words are shown alone, and other words with all their details.
        let text =
            |kind| cannot_connect((kind, "what", "why".to_owned()).into(), "here").to_string();
        let own = text(redis::ErrorKind::InvalidClientConfig);
        assert!(own.ends_with("cannot connect to here: why"), "{own}");
        let others = text(redis::ErrorKind::Io);
        assert!(
            others.contains("what") && others.contains("why"),
            "{others}"
        );
    }

    #[test]
    fn a_permanently_refused_database_names_the_way_out() {
        let refused = |text: &str| {
            let kind = redis::ErrorKind::Server(redis::ServerErrorKind::ResponseError);
            let refused = (kind, REFUSED_DATABASE, text.to_owned()).into();
            cannot_connect(refused, "redis://here/99")
        };
        let busy = refused("Redis is busy running a script.");
        assert!(busy.is_transient(), "{busy}");
        for (text, way_out) in [
            ("DB index is out of range", "`databases`"),
            ("SELECT is not allowed in cluster mode", CLUSTER),
            (
                "this user has no permissions to run the 'select' command",
                "allow its user SELECT",
            ),
        ] {
            let error = refused(text);
            assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
            assert!(!error.is_transient(), "{error}");
            for part in ["redis://here/99", text, way_out] {
                assert!(error.to_string().contains(part), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn a_truncated_reply_is_shown_in_one_line() {
        let (near, mut far) = tokio::io::duplex(256);
        let info = RedisConnectionInfo::default().set_skip_set_lib_name();
        let config = AsyncConnectionConfig::new();
        let opened = MultiplexedConnection::new_with_config(&info, near, config).await;
        let (mut connection, driver) = opened.unwrap();
        let ping = redis::cmd("PING");
        let answer = ping.query_async::<String>(&mut connection);
        let cut = async {
            far.write_all(b"$10\r\nabc").await.unwrap();
            drop(far);
        };
        let (answer, (), ()) = tokio::join!(answer, driver, cut);
        let text = message_of(answer.expect_err("half an answer"));
        assert!(text.contains("in the middle of an answer"), "{text}");
    }
}
