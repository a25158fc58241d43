//! Whether a command is available: it may be missing, or forbidden to this user.

use std::fmt;

use super::{Failure, Refusal};

/// Why a command is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lack {
    /// The server does not have it: the server is too old, the command was renamed, or a proxy does not know it.
    Missing,
    /// The user may not run it.
    Forbidden,
}

impl Lack {
    /// The reason in this refusal of a command, if it is one of the two.
    pub fn of(refusal: Refusal<'_>) -> Option<Self> {
        if refusal.code == "NOPERM" {
            return Some(Self::Forbidden);
        }
        // Some proxies reply without a code, so the first word of their text is in its place.
        let text = format!("{} {}", refusal.code, refusal.message).to_lowercase();
        let text = text.strip_prefix("err ").unwrap_or(&text);
        let begins = [
            "unknown command",
            "unknown subcommand",
            "unsupported command",
        ];
        let is_missing = begins.iter().any(|begin| text.starts_with(begin));
        is_missing.then_some(Self::Missing)
    }
}

impl Failure {
    /// Why the command is not available; `None` if the failure has another reason.
    pub fn lack(&self) -> Option<Lack> {
        match self {
            Self::Refused(error) => Lack::of(Refusal::of(error)),
            Self::Silent(_) | Self::Cut(_) | Self::OutOfStep => None,
        }
    }
}

/// The words before the commands.
impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "the server does not have",
            Self::Forbidden => "the user may not run",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_commands_are_distinguished_from_forbidden_ones() {
        let lack = |code, message| Lack::of(Refusal::parse(code, message));
        for (code, message) in [
            ("ERR", "unknown command `INFO`, with args beginning with: "),
            ("ERR", "unknown command 'INFO', with args beginning with: "),
            (
                "ERR",
                "Unknown subcommand or wrong number of arguments for 'get'",
            ),
            ("unsupported", "command 'info'"),
        ] {
            assert_eq!(lack(code, message), Some(Lack::Missing), "{message}");
        }
        let denied = "this user has no permissions to run the 'info' command";
        assert_eq!(lack("NOPERM", denied), Some(Lack::Forbidden));
        for (code, message) in [
            ("LOADING", "Redis is loading the dataset in memory"),
            ("ERR", "no"),
            ("ERR", "wrong number of arguments for 'get' command"),
        ] {
            assert_eq!(lack(code, message), None, "{message}");
        }
    }
}
