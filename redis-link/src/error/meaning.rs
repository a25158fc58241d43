use std::{borrow::Cow, time::Duration};

use queue_core::{Error, ErrorKind, Outcome};

use super::{Refusal, WrongType};
use crate::script::Script;

/// For a script that ran for too long, a full server that is being drained, or a failover: these may end soon, and
/// retrying costs little.
const SHORT: Duration = Duration::from_millis(100);
/// For faults that an operator has to fix, or that take a server a while.
const LONG: Duration = Duration::from_secs(1);

/// For these reasons Redis refuses only a script's first write: once the script has written, its other writes succeed.
const BEFORE_THE_FIRST_WRITE: [&str; 4] = ["OOM", "READONLY", "NOREPLICAS", "MISCONF"];

/// The meanings that the owner of the requests knows: of its scripts' own errors, and of errors for which it has a
/// better remedy. `None` for all other refusals.
pub type OwnMeanings = fn(Refusal<'_>) -> Option<Meaning>;

impl Refusal<'_> {
    /// The error that a caller sees.
    pub(super) fn into_error(self, address: &str, own: OwnMeanings) -> Error {
        let Self { code, message, .. } = self;
        let meaning = Meaning::of(self, own);
        if meaning.is_complete {
            return Error::new(meaning.kind, message.to_owned());
        }
        let way_out = match (meaning.lacks_right, self.command()) {
            (true, Some(command)) => Cow::from(format!("{}: it needs {command}", meaning.way_out)),
            _ => Cow::from(meaning.way_out),
        };
        let outcome = if meaning.is_certain {
            Outcome::NotApplied
        } else {
            Outcome::Unknown
        };
        let error = Error::new(
            meaning.kind,
            format!("{address} refused: {code} {message} ({way_out})"),
        );
        let error = match code {
            "WRONGTYPE" => error.with_source(WrongType),
            _ => error,
        };
        error
            .with_transient(meaning.is_transient)
            .with_retry_after(meaning.retry_after)
            .with_outcome(outcome)
    }

    /// The command that a script had called when it met this error; most servers do not name it.
    fn command(self) -> Option<&'static str> {
        let place = self.place?;
        Script::find(place.hash)?.command_at(place.line)
    }
}

/// The meaning of a server's error for a caller.
#[derive(Debug, Clone, Copy)]
pub struct Meaning {
    kind: ErrorKind,
    is_transient: bool,
    /// The shortest time before a retry.
    retry_after: Duration,
    /// Whether nothing was done. This is claimed only for errors that Redis itself returns before it does anything. Any
    /// other error, perhaps from a proxy, may come after the request ran.
    is_certain: bool,
    /// Whether a script failed because its user may not run a command.
    lacks_right: bool,
    /// Whether the refusal's message is the whole text of the error.
    is_complete: bool,
    way_out: &'static str,
}

impl Meaning {
    fn of(refusal: Refusal<'_>, own: OwnMeanings) -> Self {
        let meaning = own(refusal).unwrap_or_else(|| Self::of_code(refusal));
        // Before anything runs, the server returns all errors to the call itself. A running script may have done
        // something before it met one.
        let is_first = refusal.place.is_none() || BEFORE_THE_FIRST_WRITE.contains(&refusal.code);
        Self {
            is_certain: meaning.is_certain && is_first,
            ..meaning
        }
    }

    fn of_code(refusal: Refusal<'_>) -> Self {
        match refusal.code {
            "OOM" => {
                Self::passing("make room, or raise its maxmemory").of_kind(ErrorKind::OutOfMemory)
            }
            "READONLY" => {
                Self::passing("it is a replica: a new connection to the primary is on its way")
            }
            "NOREPLICAS" => {
                Self::lasting("it has fewer good replicas than min-replicas-to-write asks for")
            }
            "MISCONF" => Self::lasting("it cannot write its data to disk; look at its log"),
            "LOADING" => Self::lasting("it is loading its data; try again later"),
            "BUSY" => Self::passing("a script has run for too long there: see SCRIPT KILL"),
            "MASTERDOWN" => Self::passing(
                "it is a replica that has lost its primary; a failover may be under way",
            ),
            "CLUSTERDOWN" | "TRYAGAIN" => Self::passing("try again later"),
            "UNBLOCKED" => Self::passing("it has become a replica: a failover is under way"),
            "NOSCRIPT" => Self::passing("it forgot the script as soon as it was loaded; try again"),
            "MOVED" | "ASK" | "CROSSSLOT" => Self::of_setup(CLUSTER),
            "WRONGTYPE" => Self::of_setup("a key has another type than the command expects"),
            "NOAUTH" | "WRONGPASS" => Self::of_setup(LOGIN),
            "DENIED" => Self::of_setup(
                "it is in protected mode: set a password, or bind it to this machine",
            ),
            "NOPERM" => Self::of_rights(),
            "NOPROTO" => Self::of_setup(TOO_OLD),
            _ => Self::of_text(refusal),
        }
    }

    /// The meaning of an error that only its text reveals.
    fn of_text(refusal: Refusal<'_>) -> Self {
        let begins = |text: &str| refusal.code == "ERR" && refusal.message.starts_with(text);
        if begins("max number of clients") {
            Self::lasting("raise its maxclients, or close connections that nobody needs")
        } else if begins("This instance has cluster support disabled") {
            Self::of_setup(NO_CLUSTER)
        } else if begins("unknown command `HELLO`") || begins("unknown command 'HELLO'") {
            Self::of_setup(TOO_OLD)
        } else if begins("unknown command") || begins("Unknown Redis command") {
            Self {
                lacks_right: true,
                ..Self::of_setup("it does not offer a command that queue-kit needs")
            }
        } else if begins("The user executing the script can't") || begins("ACL failure in script") {
            Self::of_rights()
        } else if refusal.message.contains("Script killed by user") {
            Self::passing("somebody ended the script by SCRIPT KILL").uncertain()
        } else if refusal.place.is_some() {
            Self::of_setup("please report it")
                .of_kind(ErrorKind::Internal)
                .uncertain()
        } else {
            let text =
                "not an answer that queue-kit knows of Redis: perhaps it is of something between";
            Self::passing(text).uncertain()
        }
    }

    /// Transient, but lasting longer than a moment.
    pub const fn lasting(way_out: &'static str) -> Self {
        Self {
            retry_after: LONG,
            ..Self::passing(way_out)
        }
    }

    /// Transient, or the server's own problem; nothing was done.
    pub const fn passing(way_out: &'static str) -> Self {
        Self {
            kind: ErrorKind::Unavailable,
            is_transient: true,
            retry_after: SHORT,
            is_certain: true,
            lacks_right: false,
            is_complete: false,
            way_out,
        }
    }

    /// A person has to act; nothing was done.
    pub const fn of_setup(way_out: &'static str) -> Self {
        Self {
            kind: ErrorKind::Configuration,
            is_transient: false,
            retry_after: SHORT,
            is_certain: true,
            lacks_right: false,
            is_complete: false,
            way_out,
        }
    }

    /// The refusal's message is the whole text of the error; nothing was done.
    pub const fn complete(kind: ErrorKind) -> Self {
        Self {
            is_complete: true,
            ..Self::of_setup("").of_kind(kind)
        }
    }

    /// The same meaning, with an error of this kind.
    #[must_use]
    pub const fn of_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// The same meaning, but the request may have run.
    #[must_use]
    pub const fn uncertain(self) -> Self {
        Self {
            is_certain: false,
            ..self
        }
    }

    const fn of_rights() -> Self {
        Self {
            lacks_right: true,
            ..Self::of_setup("allow its user the commands, keys and channels that the scripts use")
        }
    }
}

/// The text for a node of a cluster.
pub const CLUSTER: &str =
    "it is a node of a Redis Cluster: connect to the cluster as a whole, with redis+cluster://";
/// The text for a server that is no node of a cluster, where a cluster is expected.
pub const NO_CLUSTER: &str = "it is no node of a cluster: connect to it with redis://";
/// The text for a server that does not support RESP3.
pub const TOO_OLD: &str = "it does not begin RESP3 by HELLO 3: it is older than Redis 6.2, which is the oldest supported, or \
                                  somebody renamed the command, or something between does not know it";
/// The text for an address without a server.
pub(super) const NO_SERVER: &str =
    "no server listens there; with startup_timeout=30s in the URL, connecting waits for one";
/// The text for a refused login.
pub const LOGIN: &str = "check the user and password, in the URL or of Builder::credentials";

#[cfg(test)]
mod tests {
    use queue_core::Outcome;

    use super::*;

    const INSIDE: &str = "something. script: 5e1c, on @user_script:3.";

    fn read(code: &str, message: &str) -> Error {
        Refusal::parse(code, message).into_error("here", |_| None)
    }

    #[test]
    fn not_applied_is_claimed_only_when_it_is_certain() {
        let outcome = |code, message| read(code, message).outcome();
        for code in ["OOM", "READONLY", "MISCONF", "NOREPLICAS"] {
            assert_eq!(outcome(code, "…"), Outcome::NotApplied, "{code}");
            assert_eq!(outcome(code, INSIDE), Outcome::NotApplied, "{code}");
        }
        for code in [
            "LOADING",
            "BUSY",
            "MASTERDOWN",
            "CLUSTERDOWN",
            "TRYAGAIN",
            "NOSCRIPT",
            "MOVED",
            "ASK",
            "CROSSSLOT",
            "NOAUTH",
            "NOPERM",
            "WRONGTYPE",
        ] {
            assert_eq!(outcome(code, "…"), Outcome::NotApplied, "{code}");
            assert_eq!(outcome(code, INSIDE), Outcome::Unknown, "{code}");
        }
        for (code, message) in [
            ("ERR", "max number of clients reached"),
            (
                "ERR",
                "unknown command 'EVALSHA', with args beginning with: ",
            ),
        ] {
            assert_eq!(outcome(code, message), Outcome::NotApplied, "{message}");
        }
        for (code, message) in [
            ("ERR", "Connection timed out"),
            ("upstream", "failure"),
            ("ERR", "Error running script (call to f_5e1c): too bad"),
            (
                "ERR",
                "Error running script (call to f_5e1c): @user_script:1: it was",
            ),
            (
                "ERR",
                "the user executing the script can't run this command",
            ),
            ("ERR", INSIDE),
            ("ERR", "Script killed by user with SCRIPT KILL."),
            ("PROXY", "gave up"),
            ("ERR", ""),
        ] {
            assert_eq!(outcome(code, message), Outcome::Unknown, "{code} {message}");
        }
    }

    #[test]
    fn immediate_refusals_say_how_long_to_pause() {
        let pause = |code| {
            let error = read(code, INSIDE);
            error.retry_after()
        };
        for code in ["BUSY", "OOM", "READONLY", "UNBLOCKED"] {
            assert_eq!(pause(code), Some(SHORT), "{code}");
        }
        for code in ["NOREPLICAS", "MISCONF", "LOADING"] {
            assert_eq!(pause(code), Some(LONG), "{code}");
        }
        assert_eq!(pause("NOPERM"), None);
    }

    #[test]
    fn refusals_of_a_failover_are_transient() {
        for code in [
            "READONLY",
            "MASTERDOWN",
            "LOADING",
            "NOREPLICAS",
            "UNBLOCKED",
            "BUSY",
            "MISCONF",
            "CLUSTERDOWN",
            "TRYAGAIN",
        ] {
            let error = read(code, "…");
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{code}");
            assert!(error.is_transient(), "{code}");
            assert!(!error.to_string().contains("report"), "{error}");
        }
    }

    #[test]
    fn permanent_refusals_name_their_own_way_out() {
        for (message, way_out) in [
            (
                "unknown command `HELLO`, with args beginning with: `3`",
                TOO_OLD,
            ),
            (
                "unknown command 'HELLO', with args beginning with: '3'",
                TOO_OLD,
            ),
            (
                "unknown command 'EVALSHA', with args beginning with: ",
                "does not offer a command",
            ),
        ] {
            let error = read("ERR", message);
            assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
            assert!(error.to_string().contains(way_out), "{error}");
        }
        for (code, way_out) in [("DENIED", "protected mode"), ("NOPROTO", TOO_OLD)] {
            let error = read(code, "…");
            assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
            assert!(error.to_string().contains(way_out), "{error}");
        }
    }

    #[test]
    fn a_fault_of_ours_is_to_be_reported() {
        let error = read("ERR", INSIDE);
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.to_string().contains("report"), "{error}");
    }

    #[test]
    fn the_owner_knows_the_meanings_of_its_own_errors() {
        let own: OwnMeanings = |refusal| match refusal.code {
            "WHOLE" => Some(Meaning::complete(ErrorKind::Invalid)),
            "OOM" => Some(Meaning::passing("empty it").of_kind(ErrorKind::OutOfMemory)),
            "OWN" => Some(Meaning::of_setup("mend it")),
            "MAYBE" => Some(Meaning::of_setup("look").uncertain()),
            _ => None,
        };
        let read = |code, message| Refusal::parse(code, message).into_error("here", own);
        let whole = read("WHOLE", "it is wrong");
        assert_eq!(whole.kind(), ErrorKind::Invalid);
        assert_eq!(whole.to_string(), Error::invalid("it is wrong").to_string());
        for (code, message, way_out, outcome) in [
            ("OOM", INSIDE, "(empty it)", Outcome::NotApplied),
            ("OWN", "…", "(mend it)", Outcome::NotApplied),
            ("OWN", INSIDE, "(mend it)", Outcome::Unknown),
            ("MAYBE", "…", "(look)", Outcome::Unknown),
            ("LOADING", "…", "(it is loading", Outcome::NotApplied),
        ] {
            let error = read(code, message);
            assert_eq!(error.outcome(), outcome, "{error}");
            assert!(error.to_string().contains(way_out), "{error}");
        }
    }
}
