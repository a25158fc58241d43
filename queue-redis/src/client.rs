//! Calls scripts on the commands connection.

use std::{fmt, sync::Arc, time::Duration};

use queue_core::{Result, Timestamp};
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
    /// answer as long again. A call of a script that the server does not have is sent again with
    /// the script's text, so that a server that forgets at any moment changes nothing; nothing
    /// else is repeated, since it may have run. Dropped, the call runs or does not, and nothing
    /// else happens.
    pub(crate) async fn run(&self, call: Call) -> Result<Value> {
        let channel = self.channel().await?;
        match channel.request(&call.command).await {
            Err(failure) if failure.is_unknown_script() => {
                self.answer(channel.request(&call.in_full()).await)
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

    async fn channel(&self) -> Result<Arc<Channel>> {
        self.0.commands.channel(self.0.response_timeout).await
    }

    fn answer(&self, answer: Result<Value, Failure>) -> Result<Value> {
        answer.map_err(|failure| failure.into_error(&self.0.address))
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
