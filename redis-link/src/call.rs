//! One request, packed for the server: a call of a script, or a plain command.

use redis::{Arg, Cmd, ToRedisArgs};

use crate::{connection::largest_part, script::Script};

/// Room for a small call. Growing the buffer step by step costs more than all other work on the
/// client.
const ARGUMENTS: usize = 24;
const BYTES: usize = 1024;

/// The parts of the command before the keys: `EVALSHA`, the script's hash, and the number of keys; or `EVAL_RO` and the
/// script's text.
const BEFORE_KEYS: usize = 3;

/// A call of a script with its keys and arguments.
///
/// `ARGV[1]` is the time: empty for the server's clock, milliseconds if a clock is injected. [`Client::prepare`]
/// begins a call, [`Client::run`] sends it.
///
/// [`Client::prepare`]: crate::client::Client::prepare
/// [`Client::run`]: crate::client::Client::run
#[derive(Debug)]
pub struct ScriptCall {
    script: &'static Script,
    /// The command, with all keys and arguments so far.
    command: Cmd,
    keys: usize,
}

impl ScriptCall {
    /// A call with these keys, at this time; an empty time (`""`) means the server's clock.
    pub fn new<K: ToRedisArgs>(
        script: &'static Script,
        keys: impl IntoIterator<Item = K, IntoIter: ExactSizeIterator>,
        now: &str,
    ) -> Self {
        Self::beginning("EVALSHA", script.hash(), script, keys, now)
    }

    /// A call for a user who may only read, at the server's time: `ARGV[1]` is `read`. It names no hash, because such a
    /// user may load no script.
    pub fn read_only<K: ToRedisArgs>(
        script: &'static Script,
        keys: impl IntoIterator<Item = K, IntoIter: ExactSizeIterator>,
    ) -> Self {
        Self::beginning("EVAL_RO", script.source(), script, keys, "read")
    }

    fn beginning<K: ToRedisArgs>(
        name: &str,
        text: &str,
        script: &'static Script,
        keys: impl IntoIterator<Item = K, IntoIter: ExactSizeIterator>,
        now: &str,
    ) -> Self {
        let keys = keys.into_iter();
        let count = keys.len();
        let mut command = Cmd::with_capacity(ARGUMENTS, BYTES);
        command.arg(name).arg(text).arg(count);
        for key in keys {
            command.arg(key);
        }
        command.arg(now);
        Self {
            script,
            command,
            keys: count,
        }
    }

    /// The script.
    pub const fn script(&self) -> &'static Script {
        self.script
    }

    /// The command that calls the script by its hash.
    pub const fn command(&self) -> &Cmd {
        &self.command
    }

    /// The number of keys.
    pub const fn keys(&self) -> usize {
        self.keys
    }

    /// The names of the keys.
    pub fn key_names(&self) -> impl Iterator<Item = &[u8]> {
        self.parts(BEFORE_KEYS).take(self.keys)
    }

    /// The same call with the script's text instead of its hash. It also loads the script on the server.
    pub fn in_full(&self) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(self.script.source());
        for part in self.parts(2) {
            command.arg(part);
        }
        command
    }

    /// Adds one argument: a slice of bytes or text as it is, a number as its decimal digits.
    pub fn push(&mut self, arg: impl ToRedisArgs) {
        self.command.arg(arg);
    }

    /// The same call with one more argument.
    #[must_use]
    pub fn with(mut self, arg: impl ToRedisArgs) -> Self {
        self.push(arg);
        self
    }

    /// Adds the arguments of another call, from `ARGV[first]` on.
    pub fn push_arguments_of(&mut self, other: &Self, first: usize) {
        for argument in other.parts(BEFORE_KEYS + other.keys + first - 1) {
            self.push(argument);
        }
    }

    /// The parts of the command from this index on.
    fn parts(&self, first: usize) -> impl Iterator<Item = &[u8]> {
        let parts = self.command.args_iter().skip(first);
        parts.filter_map(|part| match part {
            Arg::Simple(part) => Some(part),
            _ => None,
        })
    }
}

/// A call of a script, or a plain command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Request<'a> {
    Script(&'a ScriptCall),
    Command(&'a Cmd),
}

impl Request<'_> {
    /// The bytes of the request's largest part.
    pub(crate) fn largest_part(&self) -> usize {
        largest_part([self.command()])
    }

    /// The command that the request is sent by.
    pub(crate) const fn command(&self) -> &Cmd {
        match self {
            Self::Script(call) => call.command(),
            Self::Command(command) => command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_with_other_keys_takes_the_arguments_over() {
        let script = Script::new("test".to_owned(), "return 1".to_owned());
        let call = ScriptCall::new(script, ["a", "b"], "7").with("first");
        let call = call.with(12).with("last");
        let mut again = ScriptCall::new(script, ["c"], "8").with("other");
        again.push_arguments_of(&call, 3);
        assert_eq!(again.keys(), 1);
        let parts: Vec<&[u8]> = again.parts(2).collect();
        assert_eq!(parts, [&b"1"[..], b"c", b"8", b"other", b"12", b"last"]);
    }
}
