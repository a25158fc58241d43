//! Checks the rights of a connection's user, before the backend entrusts anything to the connection.

use std::collections::{BTreeMap, BTreeSet};

use queue_core::{Error, ErrorKind, Result};

use super::{Channel, Warning};
use crate::{error::Lack, script::Script};

/// Returns the commands that a user may not run.
const REFUSED: &str = include_str!("../../lua/refused.lua");

/// The commands that the connections of this crate send, and that reach nothing beyond the keys of their user.
pub const CONNECTION_COMMANDS: &[&str] = &[
    "evalsha",
    "eval",
    "script|exists",
    "script|load",
    "ping",
    "wait",
];

/// The needs of calls, besides the needs of connections ([`CONNECTION_COMMANDS`]).
#[derive(Debug, Clone)]
pub struct Needs {
    /// The scripts that calls run: each connection loads them on the server.
    pub scripts: Vec<&'static Script>,
    /// The commands that calls send, in scripts and outside of them.
    pub commands: BTreeSet<&'static str>,
    /// A command, its first argument, and the loss without it: a user who lacks one causes a warning.
    pub optional: Vec<(&'static str, String, &'static str)>,
    /// A key that the user may access.
    pub key: String,
    /// The most bytes of one part of a call.
    pub largest_part: u64,
    /// Whether calls only read, for a user who may not write. Scripts are called by their text, and not loaded.
    pub only_reads: bool,
}

impl Needs {
    /// The command that calls scripts.
    const fn calling(&self) -> &'static str {
        match self.only_reads {
            true => "EVAL_RO",
            false => "EVALSHA",
        }
    }
}

/// The command that scripts call without a key.
const WITHOUT_KEY: &str = "TIME";

/// Checks that the user may run all commands that the scripts call: a script that stops half-way leaves its work half
/// done. A command that the owner does not strictly need causes a warning.
///
/// Only servers from 7.0 on, and Valkey, can report this.
pub(super) async fn check(channel: &Channel, needs: &Needs, address: &str) -> Result<Vec<Warning>> {
    let own = [
        ("PING", String::new(), "ping is refused"),
        (
            "WAIT",
            String::new(),
            "no call can be confirmed by replicas",
        ),
    ];
    let own = if needs.only_reads { &[][..] } else { &own };
    let optional = || needs.optional.iter().chain(own);
    let calling = [needs.calling()];
    let [call] = calling;

    let mut request = redis::cmd(if needs.only_reads { call } else { "EVAL" });
    request.arg(REFUSED).arg(0).arg(format!("{call} - 0"));
    for command in &needs.commands {
        request.arg(format!("{command} {}", needs.key));
    }
    for (command, word, _) in optional() {
        request.arg(format!("{command} {word}"));
    }
    let answer = channel.request(&request).await;
    let answer = answer.map_err(|failure| failure.into_error(address))?;
    let refused: Vec<String> = redis::from_redis_value(answer).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("the rights of the user at {address}: {error}"),
        )
    })?;
    let refused: BTreeMap<&str, Lack> = refused.iter().filter_map(|line| read(line)).collect();

    let needed = |lack: Lack| {
        let needed = needs.commands.iter().chain(&calling);
        let lacking = needed.filter(|command| refused.get(**command) == Some(&lack));
        lacking.copied().collect::<Vec<_>>()
    };
    let (missing, mut forbidden) = (needed(Lack::Missing), needed(Lack::Forbidden));
    // A user who may not access the key gets no information about commands.
    let knows_key = |command: &&str| !forbidden.contains(command) && *command != WITHOUT_KEY;
    if !needs.commands.iter().any(knows_key) {
        forbidden.retain(|command| *command == WITHOUT_KEY || *command == call);
    }
    if !(missing.is_empty() && forbidden.is_empty()) {
        return Err(unusable(address, &missing, &forbidden));
    }
    let warned = optional().filter_map(|(command, word, cost)| {
        let lack = *refused.get(command)?;
        Some(Warning::lacking(lack, command, word, cost))
    });
    Ok(warned.collect())
}

/// An unavailable command, as `refused.lua` returns it.
fn read(line: &str) -> Option<(&str, Lack)> {
    let (lack, command) = match line.split_at_checked(1)? {
        ("?", rest) => (Lack::Missing, rest),
        ("-", rest) => (Lack::Forbidden, rest),
        _ => return None,
    };
    Some((command.split(' ').next()?, lack))
}

/// The error for unavailable commands that scripts need.
fn unusable(address: &str, missing: &[&str], forbidden: &[&str]) -> Error {
    let missing = [
        (Lack::Missing, missing, "give them back their names"),
        (Lack::Forbidden, forbidden, "allow them"),
    ];
    let missing = missing
        .into_iter()
        .filter(|(_, commands, _)| !commands.is_empty());
    let missing: Vec<_> = missing
        .map(|(lack, commands, way_out)| {
            let commands = commands.join(", ");
            format!("{lack} {commands}, without which calls would stop half-way; {way_out}")
        })
        .collect();
    let missing = missing.join("; ");
    let text = format!("{address} cannot be used: {missing}");
    Error::new(ErrorKind::Configuration, text)
}
