//! Calls scripts on the commands connection.

use std::{fmt, sync::Arc, time::Duration};

use queue_core::{Error, Outcome, Result, Timestamp};
use redis::{Cmd, ToRedisArgs, Value};

use crate::{
    call::Call,
    connection::{Channel, Supervised},
    error::Failure,
    script::Script,
};

/// The time that scripts are given where tests and simulations inject one.
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What sends calls. Cloning copies a pointer.
#[derive(Clone)]
pub(crate) struct Client(Arc<Inner>);

struct Inner {
    commands: Supervised,
    address: String,
    response_timeout: Duration,
    clock: Option<Clock>,
}

impl Client {
    pub(crate) fn new(
        commands: Supervised,
        address: String,
        response_timeout: Duration,
        clock: Option<Clock>,
    ) -> Self {
        Self(Arc::new(Inner {
            commands,
            address,
            response_timeout,
            clock,
        }))
    }

    /// Starts a call of a script; `ARGV[1]` is the time: empty for the server's own.
    pub(crate) fn prepare<K: ToRedisArgs>(
        &self,
        script: &'static Script,
        keys: impl IntoIterator<Item = K, IntoIter: ExactSizeIterator>,
    ) -> Call {
        match &self.0.clock {
            Some(clock) => Call::new(script, keys, &clock().as_millis().to_string()),
            None => Call::new(script, keys, ""),
        }
    }

    /// Calls a script in one round trip.
    ///
    /// While there is no connection it waits for one, up to the response timeout, then for the
    /// answer as long again. A script that the server does not have is loaded and called again,
    /// once; nothing else is repeated, since it may have run. Dropped, the call runs or does not,
    /// and nothing else happens.
    pub(crate) async fn run(&self, call: Call) -> Result<Value> {
        let channel = self.channel().await?;
        match channel.request(&call.command).await {
            Err(failure) if failure.is_unknown_script() => {
                let loaded = channel.request(&call.script.load_command()).await;
                loaded.map_err(|failure| self.not_applied(failure))?;
                self.answer(channel.request(&call.command).await)
            }
            answer => self.answer(answer),
        }
    }

    /// Sends a plain command in one round trip, as [`run`](Self::run) does a call.
    pub(crate) async fn command(&self, command: &Cmd) -> Result<Value> {
        let channel = self.channel().await?;
        self.answer(channel.request(command).await)
    }

    pub(crate) fn commands(&self) -> &Supervised {
        &self.0.commands
    }

    pub(crate) fn address(&self) -> &str {
        &self.0.address
    }

    async fn channel(&self) -> Result<Arc<Channel>> {
        self.0.commands.channel(self.0.response_timeout).await
    }

    fn answer(&self, answer: Result<Value, Failure>) -> Result<Value> {
        answer.map_err(|failure| failure.into_error(&self.0.address))
    }

    /// Loading a script writes nothing, whatever became of it.
    fn not_applied(&self, failure: Failure) -> Error {
        failure
            .into_error(&self.0.address)
            .with_outcome(Outcome::NotApplied)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("address", &self.0.address)
            .field("response_timeout", &self.0.response_timeout)
            .finish_non_exhaustive()
    }
}
