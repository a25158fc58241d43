use redis::ServerError;

/// An error reply of the server, or of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// Its first word, such as `NOSCRIPT`, even if Redis 6.2 wrapped it in a script's error.
    pub code: &'a str,
    /// The rest, without the place in a script.
    pub message: &'a str,
    /// The place in a running script that met the error. Anything the script did before stays done.
    pub place: Option<Origin<'a>>,
}

/// A line of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'a> {
    pub(super) hash: &'a str,
    pub(super) line: usize,
}

/// Why a node of a cluster does not serve the slot of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotRefusal {
    /// Another node has the slot.
    Moved,
    /// The slot is moving to another node, which is to be asked once.
    Ask,
    /// No node can serve the slot at this moment.
    Later,
}

impl<'a> Refusal<'a> {
    /// The redirection of the slot, if it is the reason of the refusal.
    pub fn slot(&self) -> Option<SlotRefusal> {
        match self.code {
            "MOVED" => Some(SlotRefusal::Moved),
            "ASK" => Some(SlotRefusal::Ask),
            "TRYAGAIN" | "CLUSTERDOWN" => Some(SlotRefusal::Later),
            _ => None,
        }
    }

    /// Reads an error reply.
    pub fn of(error: &'a ServerError) -> Self {
        Self::parse(error.code(), error.details().unwrap_or_default())
    }

    // Redis 7: `CODE message script: <sha>, on @user_script:<line>.`
    // Redis 6.2: `ERR Error running script (call to f_<sha>): @user_script:<line>: message`, where
    // the message is `@user_script: <line>: -CODE message` if Redis itself refused the command,
    // and `CODE message` if the command did.
    pub(super) fn parse(code: &'a str, message: &'a str) -> Self {
        let Some((before, after)) = message.split_once("@user_script:") else {
            return Self {
                code,
                message,
                place: None,
            };
        };
        let (line, after) = number(after);
        let wrapped = before.strip_prefix("Error running script (call to f_");
        let Some((hash, _)) = wrapped.and_then(|wrapped| wrapped.split_once(')')) else {
            let (message, hash) = before.rsplit_once("script: ").unwrap_or((before, ""));
            let hash = hash.trim_end_matches(", on ");
            return Self {
                code,
                message: message.trim_end(),
                place: Some(Origin { hash, line }),
            };
        };
        let inner = after.trim_start_matches(": ");
        let inner = match inner.strip_prefix("@user_script: ") {
            Some(again) => number(again).1.trim_start_matches(": "),
            None => inner,
        };
        let coded = inner.trim_start_matches('-').split_once(' ');
        let is_code = |word: &str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_uppercase());
        let (code, message) = match coded {
            Some((inner, message)) if is_code(inner) => (inner, message),
            _ => (code, inner),
        };
        Self {
            code,
            message: message.trim_end(),
            place: Some(Origin { hash, line }),
        }
    }
}

/// The number at the beginning of a text, and the rest.
fn number(text: &str) -> (usize, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    (digits.parse().unwrap_or(0), rest)
}

#[cfg(test)]
mod tests {
    use queue_core::{ErrorKind, Outcome};

    use super::*;
    use crate::script::Script;

    #[test]
    fn the_code_is_found_in_what_every_version_answers() {
        let place = Some(Origin {
            hash: "5e1c",
            line: 3,
        });
        for (code, message, found) in [
            (
                "OOM",
                "command not allowed when used memory > 'maxmemory'. script: 5e1c, on @user_script:3.",
                ("OOM", "command not allowed when used memory > 'maxmemory'."),
            ),
            (
                "ERR",
                "Error running script (call to f_5e1c): @user_script:3: @user_script: 3: -OOM \
                 command not allowed when used memory > 'maxmemory'.",
                ("OOM", "command not allowed when used memory > 'maxmemory'."),
            ),
            (
                "ERR",
                "Error running script (call to f_5e1c): @user_script:3: @user_script: 3: -MISCONF \
                 Redis is configured so (stop-writes-on-bgsave-error option).",
                (
                    "MISCONF",
                    "Redis is configured so (stop-writes-on-bgsave-error option).",
                ),
            ),
            (
                "ERR",
                "Error running script (call to f_5e1c): @user_script:3: WRONGTYPE Operation",
                ("WRONGTYPE", "Operation"),
            ),
            (
                "ERR",
                "Error running script (call to f_5e1c): @user_script:3: user_script:3: attempt to \
                 index a nil value",
                ("ERR", "user_script:3: attempt to index a nil value"),
            ),
        ] {
            let refusal = Refusal::parse(code, message);
            assert_eq!((refusal.code, refusal.message), found);
            assert_eq!(refusal.place, place, "{message}");
        }
        assert_eq!(Refusal::parse("LOADING", "…").place, None);
    }

    #[test]
    fn a_right_that_a_script_lacks_is_named() {
        let source = "local a\ncall('GET', a)\ncall('LTRIM', a, 1, 0)\nreturn a\n";
        let script = Script::new("trim".to_owned(), source.to_owned());
        let line = 3;
        for (code, message) in [
            (
                "ERR",
                format!(
                    "The user executing the script can't run this command or subcommand script: \
                     {}, on @user_script:{line}.",
                    script.hash()
                ),
            ),
            (
                "ERR",
                format!(
                    "Error running script (call to f_{}): @user_script:{line}: @user_script: \
                     {line}: -NOPERM The user executing the script can't run this command or \
                     subcommand",
                    script.hash()
                ),
            ),
            (
                "ERR",
                format!(
                    "Unknown Redis command called from script script: {}, on @user_script:{line}.",
                    script.hash()
                ),
            ),
            (
                "ERR",
                "ACL failure in script: User worker has no permissions to run the 'LTRIM' command \
                 script: on @user_script:222."
                    .to_owned(),
            ),
        ] {
            let error = Refusal::parse(code, &message).into_error("here", |_| None);
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert_eq!(error.outcome(), Outcome::Unknown);
            assert!(error.to_string().contains("LTRIM"), "{error}");
        }
    }
}
