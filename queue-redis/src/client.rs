//! Calls scripts on the commands connection.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use queue_core::{Error, ErrorKind, Result, Timestamp, TokioSpawn, in_millis};
use redis::{Cmd, ToRedisArgs, Value};
use tokio::time::Instant;

use crate::{
    call::Call,
    connection::{Channel, State, Supervised},
    error::Failure,
    script::Script,
};

/// The clock that a test or a simulation injects, in place of the server's.
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Sends calls. Cloning copies a pointer.
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

    /// A client of the same server, by the same clock, over a connection of its own.
    pub(crate) fn beside(other: &Self, commands: Supervised, response_timeout: Duration) -> Self {
        let (address, clock) = (other.0.address.clone(), other.0.clock.clone());
        Self::new(commands, address, response_timeout, clock)
    }

    /// Starts a call of a script. `ARGV[1]` is the time: empty for the server's own.
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

    /// Calls a script in one round trip, until the server has been silent for the response timeout.
    ///
    /// The silence counts from the call, also while it waits for a connection. If the server does
    /// not have the script, the client sends the call again with the script's text, so a server may
    /// forget its scripts at any moment. The client repeats nothing else, since it may have run. A
    /// dropped call runs or does not, and nothing else happens.
    pub(crate) async fn run(&self, call: Call) -> Result<Value> {
        let made = Instant::now();
        let channel = self.channel(made).await?;
        match channel.request_since(made, &call.command).await {
            Err(failure) if failure.is_unknown_script() => {
                self.answer(channel.request_since(made, &call.in_full()).await)
            }
            answer => self.answer(answer),
        }
    }

    /// Sends a plain command in one round trip, with the timeout of [`run`](Self::run).
    pub(crate) async fn command(&self, command: &Cmd) -> Result<Value> {
        let made = Instant::now();
        let channel = self.channel(made).await?;
        self.answer(channel.request_since(made, command).await)
    }

    /// Sends plain commands in one round trip, not as a transaction. Each has an answer of its own.
    pub(crate) async fn pipeline(&self, commands: Vec<Cmd>) -> Result<Vec<Result<Value>>> {
        let channel = self.channel(Instant::now()).await?;
        let failed = |failure: Failure| failure.into_error(&self.0.address);
        let answers = channel.request_each(commands).await.map_err(failed)?;
        Ok(answers
            .into_iter()
            .map(|answer| answer.map_err(failed))
            .collect())
    }

    /// The time of this client, or of the clock that stands for the server's.
    pub(crate) fn own_time(&self) -> Timestamp {
        match &self.0.clock {
            Some(clock) => clock(),
            None => SystemTime::now().into(),
        }
    }

    /// Waits until a call can expect an answer: a connection is open, and its last request got an
    /// answer. An error means that there will never be a connection again.
    pub(crate) async fn ready(&self) -> Result<()> {
        loop {
            match self.channel(Instant::now()).await {
                Ok(channel) if !channel.is_silent() => return Ok(()),
                Ok(channel) => channel.heard_or_over().await,
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The error for a call that could not be sent in time.
    pub(crate) fn unsent(&self) -> Error {
        let address = &self.0.address;
        let reason = match self.0.commands.state() {
            State::Up(channel) if channel.is_silent() => "does not answer at present",
            State::Up(channel) if !channel.is_over() => {
                "has more calls waiting than it gets done: make fewer at a time, or larger batches"
            }
            _ => return self.0.commands.outage(),
        };
        let timeout = in_millis(self.0.response_timeout);
        Error::new(
            ErrorKind::Unavailable,
            format!("nothing was sent within {timeout}: {address} {reason}"),
        )
    }

    /// How long the server may be silent before a call fails.
    pub(crate) fn response_timeout(&self) -> Duration {
        self.0.response_timeout
    }

    /// The server's address, without a password.
    pub(crate) fn address(&self) -> &str {
        &self.0.address
    }

    pub(crate) fn commands(&self) -> &Supervised {
        &self.0.commands
    }

    /// Whether this connection is the one in use.
    pub(crate) fn is_on(&self, channel: &Arc<Channel>) -> bool {
        let State::Up(current) = self.0.commands.state() else {
            return false;
        };
        Arc::ptr_eq(&current, channel) && !channel.is_over()
    }

    /// The connection in use; waits for one within the response timeout.
    pub(crate) async fn channel(&self, made: Instant) -> Result<Arc<Channel>> {
        // Without a runtime, the timers of a call panic.
        TokioSpawn::current()?;
        let deadline = made + self.0.response_timeout;
        self.0.commands.channel_until(deadline).await
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
