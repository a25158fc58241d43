//! One call of a script, packed for the server.

use redis::{Arg, Cmd, ToRedisArgs};

use crate::script::Script;

/// Room for a call with one small message. Growing the buffer step by step costs more than all other work on the
/// client.
const ARGUMENTS: usize = 24;
const BYTES: usize = 1024;

/// A call of a script with its keys and arguments.
///
/// `ARGV[1]` is always the time: empty for the server's clock, milliseconds if a clock is injected. [`Client::prepare`]
/// makes a call, [`Client::run`] sends it.
///
/// [`Client::prepare`]: crate::client::Client::prepare
/// [`Client::run`]: crate::client::Client::run
#[derive(Debug)]
pub struct ScriptCall {
    /// The script.
    pub script: &'static Script,
    /// The command, with all keys and arguments so far.
    pub command: Cmd,
}

impl ScriptCall {
    /// A call with these keys, at this time; an empty time (`""`) means the server's clock.
    pub fn new<K: ToRedisArgs>(
        script: &'static Script,
        keys: impl IntoIterator<Item = K, IntoIter: ExactSizeIterator>,
        now: &str,
    ) -> Self {
        let keys = keys.into_iter();
        let mut command = Cmd::with_capacity(ARGUMENTS, BYTES);
        command.arg("EVALSHA").arg(script.hash()).arg(keys.len());
        for key in keys {
            command.arg(key);
        }
        command.arg(now);
        Self { script, command }
    }

    /// The same call with the script's text instead of its hash. It also loads the script on the server.
    pub fn in_full(&self) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(self.script.source());
        for arg in self.command.args_iter().skip(2) {
            if let Arg::Simple(arg) = arg {
                command.arg(arg);
            }
        }
        command
    }

    /// Adds one argument: a slice of bytes or text as it is, a number as its decimal digits.
    pub fn push(&mut self, arg: impl ToRedisArgs) {
        self.command.arg(arg);
    }
}

/// Adds the arguments of a call, once each time it is sent. A reference, so that the sending code is compiled once, and
/// not for each operation of each kind.
pub type Fill<'a> = &'a (dyn Fn(&mut ScriptCall) + Send + Sync);
