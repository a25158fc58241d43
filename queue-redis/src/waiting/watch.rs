//! The task that registers the process at markers and hands out the server's messages.

use std::{pin::pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::Result;
use redis::{PushInfo, PushKind, Value};
use redis_link::{
    ScriptCall,
    connection::{Channel, Dial, Role, Supervised, open},
    error::Failure,
    node::NewNode,
    send_calls,
};
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{Instant, sleep_until},
};

use super::{
    caller::HandedOver,
    registry::{KEPT, ServerRequest, WaiterRegistry},
};
use crate::{keys, script::Script, scripts};

/// The most registrations in one round trip, because the server does nothing else meanwhile.
const MOST: usize = 128;

/// The pause before the next registrations, after a node said that a slot is moving to another. Until the slot has
/// arrived, a caller that polls comes back at once.
const ON_ITS_WAY: Duration = Duration::from_millis(10);

/// Number of fall-back intervals for which the registry trusts a registration. Renewals are rare enough to cost an idle
/// process next to nothing, and frequent enough to notice a connection that has gone silent.
const TRUSTED: u32 = 4;

/// The settings of a node's waiter.
pub(crate) struct Settings {
    /// How its connections are opened.
    pub(crate) node: NewNode,
    /// The time after which a waiting caller polls.
    pub(crate) fall_back: Duration,
    /// The process's own channel; no other process has it.
    pub(crate) channel: Arc<str>,
}

impl Settings {
    /// How long the registry trusts a registration.
    pub(super) const fn trusted(&self) -> Duration {
        self.fall_back.saturating_mul(TRUSTED)
    }

    /// How long the server keeps a registration.
    pub(super) const fn patience(&self) -> Duration {
        self.trusted().saturating_mul(KEPT)
    }

    /// The node's address, without a password.
    pub(super) fn address(&self) -> String {
        self.node.connector.address()
    }
}

/// Opens the waiter's connection, which listens to the process's channel.
pub(super) struct Dialer(pub(super) Arc<Settings>);

#[async_trait]
impl Dial for Dialer {
    async fn dial(&self) -> Result<Channel> {
        let node = &self.0.node;
        let channel = open(&*node.connector, Role::Waiter, node.settings.timeouts).await?;
        let mut command = redis::cmd("SUBSCRIBE");
        command.arg(&*self.0.channel);
        let answer = channel.request(&command).await;
        answer.map_err(|failure| failure.into_error(&self.0.address()))?;
        Ok(channel)
    }
}

/// Registers and listens for as long as the task runs.
pub(super) async fn watch(
    settings: Arc<Settings>,
    registry: Arc<WaiterRegistry>,
    connection: Supervised,
) {
    let mut used = false;
    loop {
        let deadline = Instant::now() + settings.node.settings.timeouts.response;
        match connection.channel_until(deadline).await {
            Ok(channel) => {
                if used {
                    registry.wake_all();
                }
                used = true;
                serve(&settings, &registry, &connection, &channel).await;
            }
            // The supervisor keeps trying, and knows the reason.
            Err(error) if error.is_transient() => {}
            Err(_) => return,
        }
    }
}

/// Serves until the connection is replaced.
async fn serve(
    settings: &Settings,
    registry: &WaiterRegistry,
    connection: &Supervised,
    channel: &Arc<Channel>,
) {
    let Some(mut pushes) = channel.take_pushes() else {
        // This connector provides no pushes: waiting callers poll by a timer.
        return connection.replaced(channel).await;
    };
    let mut replaced = pin!(connection.replaced(channel));
    let mut pause: Option<Instant> = None;
    loop {
        let (requests, calls) = match pause {
            Some(_) => (Vec::new(), Vec::new()),
            None => prepare(settings, registry.requests(MOST)),
        };
        if requests.is_empty() {
            tokio::select! {
                biased;
                push = pushes.recv() => match push {
                    Some(push) => notify(registry, &push, settings.patience()),
                    None => return channel.give_up(),
                },
                () = &mut replaced => return,
                () = sleep_until(pause.unwrap_or_else(Instant::now)), if pause.is_some() => pause = None,
                () = registry.has_requests.notified(), if pause.is_none() => {}
                () = registry.wake_for_known_changes() => {}
            }
            continue;
        }
        let answers = ask_and_listen(settings, registry, channel, &mut pushes, &calls).await;
        let answers = answers.filter(|answers| are_readable(&requests, answers));
        let Some(answers) = answers else {
            // Nothing else uses the connection, so it is replaced.
            registry.unanswered(requests);
            return channel.give_up();
        };
        if handle_replies(settings, registry, requests, answers) {
            pause = Some(Instant::now() + ON_ITS_WAY);
        }
    }
}

/// Sends these calls in one round trip, and passes messages on until the replies come. Returns `None` after an error.
async fn ask_and_listen(
    settings: &Settings,
    registry: &WaiterRegistry,
    channel: &Channel,
    pushes: &mut UnboundedReceiver<PushInfo>,
    calls: &[ScriptCall],
) -> Option<Vec<Result<Value, Failure>>> {
    let mut call = pin!(send_calls(channel, calls));
    loop {
        tokio::select! {
            biased;
            answers = &mut call => return answers.ok(),
            push = pushes.recv() => notify(registry, &push?, settings.patience()),
        }
    }
}

/// The requests with their calls, without messages to release that cannot be read.
fn prepare(
    settings: &Settings,
    requests: Vec<ServerRequest>,
) -> (Vec<ServerRequest>, Vec<ScriptCall>) {
    let prepared = requests.into_iter().filter_map(|request| {
        let call = call(settings, &request)?;
        Some((request, call))
    });
    prepared.unzip()
}

fn call(settings: &Settings, request: &ServerRequest) -> Option<ScriptCall> {
    let node = &settings.node.settings;
    let call_at = |script: &'static Script, marker: &Bytes| {
        let mut needed = vec![marker.to_vec(), keys::meta_beside(marker)];
        needed.extend(keys::results_beside(marker));
        if node.in_cluster {
            needed.push(keys::guard_beside(marker));
        }
        ScriptCall::new(script, needed, &node.clock.argument())
    };
    match request {
        ServerRequest::Register {
            marker,
            waiting,
            terms,
            before,
        } => {
            let channel = &settings.channel;
            let mut call = call_at(&scripts::WAITING_JOIN, marker);
            call.push(format!("{channel}{terms}"));
            call.push(*waiting);
            call.push(u64::try_from(settings.patience().as_millis()).unwrap_or(u64::MAX));
            if let Some(before) = before {
                call.push(format!("{channel}{before}"));
            }
            Some(call)
        }
        ServerRequest::Forward { marker, changes } => {
            let call = call_at(&scripts::WAITING_FORWARD, marker);
            Some(call.with(*changes))
        }
        ServerRequest::Release(unwanted) => {
            let lease = unwanted.lease.clone();
            unwanted.queue.release(lease, &node.clock.argument())
        }
    }
}

/// Returns true if a queue is at another node now, or will be soon.
fn handle_replies(
    settings: &Settings,
    registry: &WaiterRegistry,
    requests: Vec<ServerRequest>,
    answers: Vec<Result<Value, Failure>>,
) -> bool {
    let mut has_moved = false;
    for (request, answer) in requests.into_iter().zip(answers) {
        // If a forwarding request fails, its change is lost, and others poll by their timers. If a release fails, the
        // lease expires.
        let ServerRequest::Register {
            marker, waiting, ..
        } = request
        else {
            continue;
        };
        match answer {
            Ok(changes) => {
                let changes = redis::from_redis_value(changes).unwrap_or(0);
                registry.registered(&marker, waiting, changes);
            }
            // On a cluster: a caller that polls finds the node that has the queue now, and waits there.
            Err(failure) if failure.is_of_another_node() => {
                has_moved = true;
                registry.moved(&marker);
            }
            // The server's error may last (a marker of the wrong type, a missing right). So the registry retries this
            // marker after a while, and no other marker waits for that.
            Err(failure) => {
                let meanings = settings.node.settings.meanings;
                let reason = failure.into_error_of(&settings.address(), meanings);
                registry.refused(&marker, reason);
            }
        }
    }
    has_moved
}

/// Whether these can be the replies to the requests: numbers, whatever is stored, except to a release.
fn are_readable(requests: &[ServerRequest], answers: &[Result<Value, Failure>]) -> bool {
    let is_number = |answer: &Result<Value, Failure>| matches!(answer, Ok(Value::Int(_)) | Err(_));
    let mut both = requests.iter().zip(answers);
    both.all(|(request, answer)| matches!(request, ServerRequest::Release(_)) || is_number(answer))
}

/// Passes the server's message to the waiting callers that it concerns. A message of `lua/lib/wake_up.lua` is the number
/// of changes, a blank, the marker. The number is zero if `lua/leasing/queues.lua` published it. If it is `lease`, a
/// message is handed over, and `patience` is the lifetime that the registration had left at its beginning.
fn notify(registry: &WaiterRegistry, push: &PushInfo, patience: Duration) {
    let (PushKind::Message, [.., Value::BulkString(message)]) = (&push.kind, &*push.data) else {
        return;
    };
    match split_word(message) {
        Some((b"lease", rest)) => {
            if let Some((marker, handed)) = read_handed_over(rest, patience) {
                registry.hand_over(&marker, handed);
            }
        }
        Some((changes, marker)) => {
            let marker = Bytes::copy_from_slice(marker);
            match number(changes).and_then(|changes| usize::try_from(changes).ok()) {
                Some(0) => registry.gone(&marker),
                Some(changes) => registry.notify(&marker, changes),
                None => {}
            }
        }
        None => {}
    }
}

fn read_handed_over(rest: &[u8], patience: Duration) -> Option<(Bytes, HandedOver)> {
    let (serial, rest) = split_word(rest)?;
    let (left, rest) = split_word(rest)?;
    let (length, rest) = split_word(rest)?;
    let (marker, lease) = rest.split_at_checked(usize::try_from(number(length)?).ok()?)?;
    // The server's clock may have passed the end of a registration.
    let left = u64::try_from(number(left)?).unwrap_or(0);
    let handed = HandedOver {
        serial: u64::try_from(number(serial)?).ok()?,
        age: patience.checked_sub(Duration::from_millis(left))?,
        lease: Bytes::copy_from_slice(lease),
    };
    Some((Bytes::copy_from_slice(marker), handed))
}

/// The bytes before the first blank, and those behind it.
fn split_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let blank = text.iter().position(|byte| *byte == b' ')?;
    Some((&text[..blank], &text[blank + 1..]))
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
