//! What is resent, when, and how often.
//!
//! A request is resent only if its reply shows that no part of it ran. All other requests may have run, so their callers
//! get an error of unknown outcome. A request that waits for a connection was not sent, and fails as not applied.
//!
//! | reply | what is sent next | how often |
//! | --- | --- | --- |
//! | the server does not have the script | the call with the script's text, on the same connection | once each time that the call goes to a node |
//! | another node has the slot (`MOVED`) | the request, to that node | until the timeout |
//! | the slot is moving (`ASK`) | the request, to the node that takes the slot over | once, and then as before |
//! | no node serves the slot (`TRYAGAIN`, `CLUSTERDOWN`) | the request, to the slot's owner, after a pause | until the timeout |
//! | one of these, to one command of a pipeline | this command alone | as any request |
//! | the script says that the call lacks something | the call that its owner makes of it | each time |
//! | the script says that something is missing | the same, once the owner has made that | three times |
//!
//! All tries to find the node together take no longer than the response timeout, counted from the call. The pauses grow
//! from 2 to 50 ms; the first redirection is followed at once. A batch that failed as a whole is another matter: see
//! `batching`.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::{BoxFuture, FutureExt};
use queue_core::{Error, ErrorKind, Result, TokioSpawn, in_millis};
use redis::{Cmd, Value};
use tokio::time::{self, Instant};

use crate::{
    call::{Request, ScriptCall},
    client::Client,
    connection::{Channel, largest_part},
    error::{Failure, Refusal},
    node::Node,
};

/// The pauses before a request is resent to a cluster that is changing.
const SHORTEST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_millis(50);
/// How often a call may find something missing. It is missing again only if somebody else keeps removing it.
const MOST_MISSING: u32 = 3;

/// The owner of a script, which knows the replies by which the script says that it did nothing.
#[async_trait]
pub trait ScriptOwner: Send {
    /// Why the script did nothing; `None` if it ran.
    fn undone(&self, call: &ScriptCall, reply: &Value) -> Option<Undone>;

    /// Removes the reason, and returns the call to send then.
    async fn amend(&mut self, call: &ScriptCall, reply: &Value) -> Result<ScriptCall>;
}

/// Why a script did nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undone {
    /// The call lacks something, such as a key.
    Incomplete,
    /// What the script works on is missing on the server.
    Missing,
}

impl Client {
    /// Calls a script in one round trip, until the server has been silent for the response timeout.
    ///
    /// The silence counts from the call, also while it waits for a connection. The client resends a call only if it did
    /// not run, as this module's documentation lists. A dropped call may or may not run, without other effects.
    pub async fn run(&self, call: &ScriptCall) -> Result<Value> {
        self.send(Request::Script(call)).await
    }

    /// Calls a script as [`run`](Self::run) does, until the script has run. `None` if something is missing each time.
    pub async fn run_amended(
        &self,
        call: &ScriptCall,
        owner: &mut dyn ScriptOwner,
    ) -> Result<Option<Value>> {
        let mut amended: Option<ScriptCall> = None;
        let mut missing = 0;
        while missing < MOST_MISSING {
            let call = amended.as_ref().unwrap_or(call);
            let reply = self.run(call).await?;
            match owner.undone(call, &reply) {
                None => return Ok(Some(reply)),
                Some(Undone::Missing) => missing += 1,
                Some(Undone::Incomplete) => {}
            }
            amended = Some(owner.amend(call, &reply).await?);
        }
        Ok(None)
    }

    /// Sends a plain command in one round trip, with the timeout of [`run`](Self::run).
    pub async fn command(&self, command: &Cmd) -> Result<Value> {
        self.send(Request::Command(command)).await
    }

    /// Boxed, as in [`pipeline`](Self::pipeline) and [`route`](Self::route). At each await the compiler checks everything
    /// that a future holds, and every operation awaits one of these.
    fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Value>> {
        async move {
            let made = Instant::now();
            // Without a runtime, the timers of a call panic.
            TokioSpawn::current()?;
            self.send_until_taken(request, made).await
        }
        .boxed()
    }

    /// Sends a request, for a caller that has waited since `made`, until a node executes it.
    ///
    /// # Errors
    ///
    /// Errors of the node that executed it; `Unavailable` and not applied if no node did within the timeout.
    async fn send_until_taken(&self, request: Request<'_>, made: Instant) -> Result<Value> {
        let timeout = self.response_timeout();
        let deadline = made + timeout;
        let mut since = made;
        let mut pause = SHORTEST;
        let mut followed = false;
        let mut taking_over: Option<Arc<Node>> = None;
        loop {
            let (node, answer) = match taking_over.take() {
                Some(node) => {
                    let channel = node.channel_until(deadline).await?;
                    let answer = request.send_asking(&channel).await;
                    (node, answer)
                }
                None => {
                    let (node, channel) = self.channel(deadline).await?;
                    let size = || request.largest_part();
                    let connection = node.connection_for(channel, size, deadline).await?;
                    let answer = request.send(connection.channel(), since).await;
                    node.note_result(&connection, answer.as_ref().err(), size)?;
                    (node, answer)
                }
            };
            let failure = match answer {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            let Some((cluster, redirection)) = self.redirection(&failure, &node) else {
                return Err(self.failed(failure, &node));
            };
            // A reply ends the silence, so the silence counts from here.
            since = Instant::now();
            if since >= deadline {
                return Err(untaken(timeout, &node, &failure));
            }
            let follows;
            (follows, taking_over) = cluster.follow(redirection, self.slot(), &node);
            // Nodes that disagree may redirect a request from one to the other and back.
            if followed || !follows {
                time::sleep(pause).await;
                pause = LONGEST.min(pause * 2);
            }
            followed = follows;
        }
    }

    /// Sends plain commands in one round trip, not as a transaction. Each has its own reply.
    pub fn pipeline(&self, commands: Vec<Cmd>) -> BoxFuture<'_, Result<Vec<Result<Value>>>> {
        async move {
            TokioSpawn::current()?;
            let deadline = Instant::now() + self.response_timeout();
            let (node, channel) = self.channel(deadline).await?;
            let size = largest_part(&commands);
            let connection = node.connection_for(channel, || size, deadline).await?;
            // A single server redirects nothing.
            let kept = match self.is_clustered() {
                true => commands.clone(),
                false => Vec::new(),
            };
            let sent = connection.channel().request_each(commands).await;
            node.note_result(&connection, sent.as_ref().err(), || size)?;
            let sent = sent.map_err(|failure| self.failed(failure, &node))?;
            let mut answers = Vec::with_capacity(sent.len());
            for (nth, answer) in sent.into_iter().enumerate() {
                answers.push(match answer {
                    Err(failure) if self.redirection(&failure, &node).is_some() => {
                        self.send(Request::Command(&kept[nth])).await
                    }
                    answer => answer.map_err(|failure| node.error(failure)),
                });
            }
            Ok(answers)
        }
        .boxed()
    }
}

impl Request<'_> {
    /// Sends the request, for a caller that has waited since `made`. If the server does not have the script, sends the
    /// call again with the script's text, so a server may forget its scripts at any moment.
    async fn send(&self, channel: &Channel, made: Instant) -> Result<Value, Failure> {
        let answer = channel.request_since(made, self.command()).await;
        match (self, answer) {
            (Self::Script(call), Err(failure)) if failure.is_unknown_script() => {
                channel.request_since(made, &call.in_full()).await
            }
            (_, answer) => answer,
        }
    }

    /// Sends the request to the cluster node that is taking over its slot, which serves only requests after `ASKING`.
    /// No script runs there, known or not, because the guard that it names is missing.
    async fn send_asking(&self, channel: &Channel) -> Result<Value, Failure> {
        // Both in one round trip: no other request on this connection may come between them.
        let both = [redis::cmd("ASKING"), self.command().clone()];
        let answers = channel.request_each(both).await?;
        // If `ASKING` is refused, the other reply only names the right node.
        let answers: Result<Vec<Value>, Failure> = answers.into_iter().collect();
        Ok(answers?.pop().unwrap_or(Value::Nil))
    }
}

/// Sends calls in one round trip over this connection; each has its own reply. Calls whose script the server does not
/// have are sent again with the script's text.
pub async fn send_calls(
    channel: &Channel,
    calls: &[ScriptCall],
) -> Result<Vec<Result<Value, Failure>>, Failure> {
    let commands = calls.iter().map(|call| call.command().clone());
    let mut answers = channel.request_each(commands).await?;
    let forgotten = |answer: &Result<Value, Failure>| matches!(answer, Err(failure) if failure.is_unknown_script());
    let again: Vec<usize> = (0..answers.len())
        .filter(|nth| forgotten(&answers[*nth]))
        .collect();
    let full: Vec<Cmd> = again.iter().map(|nth| calls[*nth].in_full()).collect();
    let answered = channel.request_each(full).await?;
    for (nth, answer) in again.into_iter().zip(answered) {
        answers[nth] = answer;
    }
    Ok(answers)
}

/// The error for a request that no node executed.
fn untaken(timeout: Duration, node: &Node, failure: &Failure) -> Error {
    let reply = match failure {
        Failure::Refused(error) => Refusal::of(error),
        Failure::Silent(_) | Failure::Cut(_) | Failure::OutOfStep => {
            unreachable!("a redirection is an answer")
        }
    };
    let text = format!(
        "no node of the cluster took the call within {}; the last that was asked, {}, answered: {} {} \
         (its slot is on its way to another node, or its node is down)",
        in_millis(timeout),
        node.address(),
        reply.code,
        reply.message
    );
    Error::new(ErrorKind::Unavailable, text).with_server(node.address())
}
