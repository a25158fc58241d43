use queue_core::{Error, ErrorKind, Outcome};
use redis::ServerError;

/// An error that the server answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal<'a> {
    /// Its first word, such as `NOSCRIPT`; also if Redis 6.2 wrapped it in a script's error.
    pub(crate) code: &'a str,
    /// The rest.
    pub(crate) message: &'a str,
    /// A command inside a running script met it: what the script did before stays done.
    pub(crate) inside_script: bool,
}

impl<'a> Refusal<'a> {
    pub(crate) fn of(error: &'a ServerError) -> Self {
        Self::parse(error.code(), error.details().unwrap_or_default())
    }

    fn parse(code: &'a str, message: &'a str) -> Self {
        // Redis 7: `CODE message script: <sha>, on @user_script:<line>.`
        // Redis 6.2: `ERR Error running script (call to f_<sha>): @user_script:<line>: -CODE message`,
        // and without the `-` where Lua itself raised it.
        if let Some((_, inner)) = message.split_once("@user_script") {
            if message.starts_with("Error running script") {
                let inner = inner.split_once(": ").map_or(inner, |(_, inner)| inner);
                let inner = inner.rsplit_once("-").map_or(inner, |(_, coded)| coded);
                if let Some((code, message)) = inner.trim().split_once(' ')
                    && code.chars().all(|c| c.is_ascii_uppercase())
                {
                    return Self {
                        code,
                        message,
                        inside_script: true,
                    };
                }
            }
            return Self {
                code,
                message,
                inside_script: true,
            };
        }
        Self {
            code,
            message,
            inside_script: false,
        }
    }

    pub(crate) fn into_error(self, address: &str) -> Error {
        let Self { code, message, .. } = self;
        // Where in the script it was matters only if the script is at fault.
        let reason = message.split(" script: ").next().unwrap_or(message);
        let (kind, transient, way_out) = match code {
            // Ours, raised by a script on purpose before it wrote anything.
            "QKINVALID" => return Error::invalid(message.to_owned()),
            "QKCONFIG" => return Error::new(ErrorKind::ConfigMismatch, message.to_owned()),
            "QKFULL" => return Error::new(ErrorKind::Full, message.to_owned()),
            "QKCORRUPT" => return Error::new(ErrorKind::Internal, message.to_owned()),
            "OOM" => (
                ErrorKind::OutOfMemory,
                true,
                "lease and settle to make room, or raise its maxmemory",
            ),
            "LOADING" => (
                ErrorKind::Unavailable,
                true,
                "it is loading its data; try again later",
            ),
            "BUSY" => (
                ErrorKind::Unavailable,
                true,
                "a script has run for too long there: see SCRIPT KILL",
            ),
            "READONLY" => (
                ErrorKind::Unavailable,
                true,
                "it is a replica: a new connection to the primary is on its way",
            ),
            "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "NOREPLICAS" => {
                (ErrorKind::Unavailable, true, "try again later")
            }
            "MISCONF" => (
                ErrorKind::Unavailable,
                true,
                "it cannot write its data to disk; look at its log",
            ),
            "MOVED" | "ASK" | "CROSSSLOT" => (
                ErrorKind::Configuration,
                false,
                "it is a node of a Redis Cluster, reached as if it were a single server",
            ),
            "WRONGTYPE" => (
                ErrorKind::Configuration,
                false,
                "a key of this queue holds something that is not queue-kit's: delete it, or use \
                 another name or prefix",
            ),
            "NOPERM" => (
                ErrorKind::Configuration,
                false,
                "allow its user the commands and keys that the scripts use",
            ),
            "NOAUTH" | "WRONGPASS" => (
                ErrorKind::Configuration,
                false,
                "check the user and password in the URL",
            ),
            "DENIED" => (
                ErrorKind::Configuration,
                false,
                "it is in protected mode: set a password, or bind it to this machine",
            ),
            "NOSCRIPT" => (
                ErrorKind::Unavailable,
                true,
                "it forgot the script as soon as it was loaded; try again",
            ),
            _ if message.starts_with("max number of clients") => {
                (ErrorKind::Unavailable, true, "raise its maxclients")
            }
            _ if message.starts_with("unknown command") => (
                ErrorKind::Configuration,
                false,
                "it does not offer a command that queue-kit needs",
            ),
            _ => {
                return Error::new(
                    ErrorKind::Internal,
                    format!("{address} refused: {code} {message} (please report it)"),
                )
                .with_outcome(self.outcome());
            }
        };
        Error::new(
            kind,
            format!("{address} refused: {code} {reason} ({way_out})"),
        )
        .with_transient(transient)
        .with_outcome(self.outcome())
    }

    /// A command that failed inside a script may have followed others that wrote.
    fn outcome(self) -> Outcome {
        if self.inside_script && !self.comes_before_any_write() {
            Outcome::Unknown
        } else {
            Outcome::NotApplied
        }
    }

    /// Redis itself refuses only the first write of a script for these reasons: once it has
    /// written, its other writes go through.
    fn comes_before_any_write(self) -> bool {
        matches!(self.code, "OOM" | "READONLY" | "MISCONF" | "NOREPLICAS")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_found_in_what_every_version_answers() {
        let of_seven = Refusal::parse(
            "OOM",
            "command not allowed when used memory > 'maxmemory'. script: 5e1c, on @user_script:3.",
        );
        assert_eq!(of_seven.code, "OOM");
        assert!(of_seven.inside_script);

        let of_six = Refusal::parse(
            "ERR",
            "Error running script (call to f_5e1c): @user_script:3: -OOM command not allowed",
        );
        assert_eq!(
            (of_six.code, of_six.message),
            ("OOM", "command not allowed")
        );
        assert!(of_six.inside_script);

        let by_lua = Refusal::parse(
            "ERR",
            "Error running script (call to f_5e1c): @user_script:3: user_script:3: attempt to \
             index a nil value",
        );
        assert_eq!(by_lua.code, "ERR");
        assert!(by_lua.inside_script);
    }

    #[test]
    fn not_applied_is_claimed_only_when_it_is_certain() {
        let outcome = |code, message| Refusal::parse(code, message).into_error("here").outcome();
        let inside = "something. script: 5e1c, on @user_script:3.";
        assert_eq!(outcome("LOADING", "…"), Outcome::NotApplied);
        assert_eq!(outcome("NOPERM", "…"), Outcome::NotApplied);
        assert_eq!(outcome("NOPERM", inside), Outcome::Unknown);
        assert_eq!(outcome("WRONGTYPE", inside), Outcome::Unknown);
        assert_eq!(outcome("ERR", inside), Outcome::Unknown);
        assert_eq!(outcome("OOM", inside), Outcome::NotApplied);
        assert_eq!(outcome("READONLY", inside), Outcome::NotApplied);
        assert_eq!(outcome("QKCONFIG", "…"), Outcome::NotApplied);
    }
}
