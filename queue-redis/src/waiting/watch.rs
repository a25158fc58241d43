//! The task that registers the process at markers and hands out the server's messages.

use std::{pin::pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::Result;
use redis::{Cmd, PushInfo, PushKind, Value};
use redis_link::{
    ScriptCall,
    connection::{Channel, Connector, Dial, Role, Settings, Supervised, Timeouts, open},
    error::Failure,
};
use tokio::time::{Instant, sleep_until};

use super::{
    marker_queue::HandedOver,
    registry::{ServerRequest, WaiterRegistry},
};
use crate::{keys, script::Script, scripts};

/// The most registrations in one round trip, because the server does nothing else meanwhile.
const MOST: usize = 128;

/// The pause before the next registrations, after a node said that a slot is moving to another. Until the slot has
/// arrived, a caller that polls comes back at once.
const ON_ITS_WAY: Duration = Duration::from_millis(10);

/// Opens the waiter's connection, which listens to the process's channel.
pub(super) struct Dialer {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) timeouts: Timeouts,
    pub(super) channel: Arc<str>,
}

#[async_trait]
impl Dial for Dialer {
    async fn dial(&self) -> Result<Channel> {
        let channel = open(&*self.connector, Role::Waiter, self.timeouts).await?;
        let mut command = redis::cmd("SUBSCRIBE");
        command.arg(&*self.channel);
        let answer = channel.request(&command).await;
        answer.map_err(|failure| failure.into_error(&self.connector.address()))?;
        Ok(channel)
    }
}

/// Registers and listens for as long as the task runs.
pub(super) struct Watch {
    pub(super) registry: Arc<WaiterRegistry>,
    pub(super) connection: Supervised,
    pub(super) address: String,
    pub(super) channel: Arc<str>,
    /// How long the server keeps a registration.
    pub(super) patience: Duration,
    pub(super) settings: Arc<Settings>,
}

impl Watch {
    pub(super) async fn run(self) {
        let mut used = false;
        loop {
            let deadline = Instant::now() + self.response_timeout();
            match self.connection.channel_until(deadline).await {
                Ok(channel) => {
                    if used {
                        self.registry.wake_all();
                    }
                    used = true;
                    self.serve(&channel).await;
                }
                // The supervisor keeps trying, and knows the reason.
                Err(error) if error.is_transient() => {}
                Err(_) => return,
            }
        }
    }

    fn response_timeout(&self) -> Duration {
        self.settings.timeouts.response
    }

    /// Serves until the connection is replaced.
    async fn serve(&self, channel: &Arc<Channel>) {
        let Some(mut pushes) = channel.take_pushes() else {
            // This connector provides no pushes: waiting callers poll by a timer.
            return self.connection.replaced(channel).await;
        };
        let connection = self.connection.clone();
        let mut replaced = pin!(connection.replaced(channel));
        let mut pause: Option<Instant> = None;
        loop {
            let requests = match pause {
                Some(_) => Vec::new(),
                None => self.registry.requests(MOST),
            };
            if requests.is_empty() {
                tokio::select! {
                    biased;
                    push = pushes.recv() => match push {
                        Some(push) => self.notify(&push),
                        None => return channel.give_up(),
                    },
                    () = &mut replaced => return,
                    () = sleep_until(pause.unwrap_or_else(Instant::now)), if pause.is_some() => pause = None,
                    () = self.registry.has_requests(), if pause.is_none() => {}
                    () = self.registry.wake_pending() => {}
                }
                continue;
            }
            let answers = {
                let mut call = pin!(self.ask(channel, &requests));
                loop {
                    tokio::select! {
                        biased;
                        answers = &mut call => break answers,
                        push = pushes.recv() => match push {
                            Some(push) => self.notify(&push),
                            None => break Err(Failure::Silent(self.response_timeout())),
                        },
                    }
                }
            };
            match answers {
                Ok(answers) if answers.iter().all(is_readable) => {
                    if self.handle_replies(requests, answers) {
                        pause = Some(Instant::now() + ON_ITS_WAY);
                    }
                }
                // Replies that are out of sync, or an error. Nothing else uses the connection, so it is replaced in
                // both cases.
                Ok(_) | Err(_) => {
                    self.registry.unanswered(requests);
                    return channel.give_up();
                }
            }
        }
    }

    /// Passes the server's message to the waiting callers that it concerns.
    fn notify(&self, push: &PushInfo) {
        match read(push, self.patience) {
            Some(ServerMessage::Gone(marker)) => self.registry.gone(&marker),
            Some(ServerMessage::Changes(marker, changes)) => self.registry.notify(&marker, changes),
            Some(ServerMessage::HandedOver(marker, handed)) => {
                self.registry.hand_over(&marker, handed);
            }
            None => {}
        }
    }

    /// Sends these requests in one round trip. If the server has forgotten a script, sends the call again with the
    /// script's text.
    async fn ask(
        &self,
        channel: &Channel,
        requests: &[ServerRequest],
    ) -> Result<Vec<Result<Value, Failure>>, Failure> {
        let calls: Vec<ScriptCall> = requests.iter().map(|request| self.call(request)).collect();
        let commands = calls.iter().map(|call| call.command().clone());
        let mut answers = channel.request_each(commands).await?;
        let forgotten = |answer: &Result<Value, Failure>| matches!(answer, Err(failure) if failure.is_unknown_script());
        let again: Vec<usize> = (0..answers.len())
            .filter(|nth| forgotten(&answers[*nth]))
            .collect();
        if !again.is_empty() {
            let in_full = again.iter().map(|nth| calls[*nth].in_full());
            let full: Vec<Cmd> = in_full.collect();
            let answered = channel.request_each(full).await?;
            for (nth, answer) in again.into_iter().zip(answered) {
                answers[nth] = answer;
            }
        }
        Ok(answers)
    }

    fn call(&self, request: &ServerRequest) -> ScriptCall {
        match request {
            ServerRequest::Register {
                marker,
                waiting,
                terms,
                before,
            } => {
                let mut call = self.call_at(&scripts::WAITING_JOIN, marker);
                call.push(format!("{}{terms}", self.channel));
                call.push(*waiting);
                call.push(u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX));
                if let Some(before) = before {
                    call.push(format!("{}{before}", self.channel));
                }
                call
            }
            ServerRequest::Forward { marker, changes } => {
                let mut call = self.call_at(&scripts::WAITING_PASS_ON, marker);
                call.push(*changes);
                call
            }
        }
    }

    fn call_at(&self, script: &'static Script, marker: &Bytes) -> ScriptCall {
        let now = self.settings.clock.argument();
        let mut needed = vec![marker.to_vec(), keys::meta_beside(marker)];
        needed.extend(keys::results_beside(marker));
        if self.settings.in_cluster {
            needed.push(keys::guard_beside(marker));
        }
        ScriptCall::new(script, needed, &now)
    }

    /// Returns true if a queue is at another node now, or will be soon.
    fn handle_replies(
        &self,
        requests: Vec<ServerRequest>,
        answers: Vec<Result<Value, Failure>>,
    ) -> bool {
        let mut has_moved = false;
        for (request, answer) in requests.into_iter().zip(answers) {
            // If a forwarding request fails, its change is lost, and others poll by their timers.
            let ServerRequest::Register {
                marker, waiting, ..
            } = request
            else {
                continue;
            };
            match answer {
                Ok(changes) => {
                    let changes = redis::from_redis_value(changes).unwrap_or(0);
                    self.registry.registered(&marker, waiting, changes);
                }
                // On a cluster: a caller that polls finds the node that has the queue now, and waits there.
                Err(failure) if failure.is_of_another_node() => {
                    has_moved = true;
                    self.registry.moved(&marker);
                }
                // The server's error may last (a marker of the wrong type, a missing right). So the registry retries
                // this marker after a while, and no other marker waits for that.
                Err(failure) => {
                    let reason = failure.into_error(&self.address);
                    self.registry.refused(&marker, reason);
                }
            }
        }
        has_moved
    }
}

/// Whether this can be the reply to a request: a number, whatever is stored.
const fn is_readable(answer: &Result<Value, Failure>) -> bool {
    matches!(answer, Ok(Value::Int(_)) | Err(_))
}

/// A message of the server to the process.
#[derive(Debug, PartialEq, Eq)]
enum ServerMessage {
    /// The marker is gone with its queue.
    Gone(Bytes),
    Changes(Bytes, usize),
    HandedOver(Bytes, HandedOver),
}

/// Reads a message of `lua/lib/wake_up.lua`: the number of changes, a blank, the marker. The number is zero if
/// `lua/leasing/queues.lua` published it. Also reads a message of `lua/lib/wake_up.lua`, where `patience` is the
/// lifetime that the registration had left at its beginning.
fn read(push: &PushInfo, patience: Duration) -> Option<ServerMessage> {
    let (PushKind::Message, [.., Value::BulkString(message)]) = (&push.kind, &*push.data) else {
        return None;
    };
    let blank = message.iter().position(|byte| *byte == b' ')?;
    let rest = &message[blank + 1..];
    if &message[..blank] == b"lease" {
        return read_handed_over(rest, patience);
    }
    let changes = number(&message[..blank])?;
    let marker = Bytes::copy_from_slice(rest);
    Some(match usize::try_from(changes).ok()? {
        0 => ServerMessage::Gone(marker),
        changes => ServerMessage::Changes(marker, changes),
    })
}

fn read_handed_over(rest: &[u8], patience: Duration) -> Option<ServerMessage> {
    let mut words = rest.splitn(4, |byte| *byte == b' ');
    let serial = u64::try_from(number(words.next()?)?).ok()?;
    let left = Duration::from_millis(u64::try_from(number(words.next()?)?).unwrap_or(0));
    let length = usize::try_from(number(words.next()?)?).ok()?;
    let (marker, lease) = words.next()?.split_at_checked(length)?;
    let handed = HandedOver {
        serial,
        age: patience.checked_sub(left)?,
        lease: Bytes::copy_from_slice(lease),
    };
    Some(ServerMessage::HandedOver(
        Bytes::copy_from_slice(marker),
        handed,
    ))
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
