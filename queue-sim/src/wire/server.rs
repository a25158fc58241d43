//! The server's work on a request that has arrived.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Settlement, Timestamp, call::Call};

use super::{
    Reply, Request,
    listeners::HandedOverMessage,
    network::Network,
    resp,
    rewrite::{Execute, Steps},
    server_connection::ServerConnection,
    target::{
        bounded_queue, changes_lists, field, queue_of, refusal, released, stray, take_expiry,
    },
};
use crate::{
    engine::yield_now,
    history::{CallEnd, Event},
    run::queue_name,
};

/// The scripts that open, list and remove queues. They make no call of a queue.
const OF_THE_BACKEND: [&str; 3] = ["open", "listed", "remove"];

/// One request being executed.
#[derive(Debug)]
struct Executing<'a> {
    network: &'a Network,
    request: &'a Request,
    /// Whether the history knows that the request's call was executed.
    is_noted: AtomicBool,
}

/// Executes a request that has arrived. Without a reply, the server itself has failed.
pub(super) async fn execute(network: &Network, mut request: Request) -> Option<Reply> {
    if let Some(refused) = refusal(&request) {
        return Some(refused);
    }
    if is_time(&request) {
        return Some(Reply::time(network.now()));
    }
    let at = request.script.is_some().then(|| request.words[1].clone());
    let there = at.is_none_or(|word| is_there(network, &request, &word));
    request.set_time(network.now());
    let mut expiry = None;
    if network.serves().is_some() {
        network.expire()?;
        expiry = take_expiry(&mut request);
    }
    let executing = Executing {
        network,
        request: &request,
        is_noted: AtomicBool::new(false),
    };
    if let (Some(rewrite), true) = (network.rewrite(), there)
        && let Some(reply) = rewrite.rewrite(request.clone(), &Steps(&executing)).await
    {
        if !executing.is_noted.load(Ordering::Relaxed) {
            executing.note_executed(&reply);
        }
        return Some(reply);
    }
    executing.note_registered();
    let (reply, length) = executing.pass(&request)?;
    executing.note_executed(&reply);
    executing.note_handed_over();
    executing.note(length);
    if let Some((end, key)) = expiry.filter(|_| !reply.is_nil()) {
        network.ends(end, key);
    }
    if !reply.is_nil() && changes_lists(&request) {
        network.has_executed();
    }
    Some(reply)
}

/// Whether it asks for the server's time. The server's own clock does not follow the run's.
fn is_time(request: &Request) -> bool {
    matches!(&request.words[..], [verb] if verb.eq_ignore_ascii_case(b"TIME"))
}

/// Whether the server has the script of the request, or the request brings it.
fn is_there(network: &Network, request: &Request, word: &[u8]) -> bool {
    if request.words[0].eq_ignore_ascii_case(b"EVAL") {
        return true;
    }
    let mut server_connection = network.server_connection();
    let scripts = server_connection.scripts();
    let found = scripts.find(word);
    found.is_some_and(|at| scripts.is_there(at))
}

#[async_trait]
impl Execute for Executing<'_> {
    async fn step(&self, request: &Request) -> Reply {
        let (reply, length) = self.pass(request).unwrap_or_else(|| (failed(), None));
        self.note(length);
        yield_now().await;
        reply
    }

    async fn command(&self, words: Vec<Bytes>) -> Reply {
        let request = Request {
            words,
            script: None,
            ..self.request.clone()
        };
        self.step(&request).await
    }

    fn now(&self) -> Timestamp {
        self.network.now()
    }

    fn executed(&self) {
        self.is_noted.store(true, Ordering::Relaxed);
        if let Some(call) = self.request.call {
            self.network.journal().executed(call, self.now());
        }
    }
}

impl Executing<'_> {
    /// Writes down what the reply shows. Before it does anything, every script can reply with nothing, an error, or a
    /// request for keys that it lacks: the queue does not exist, the configuration differs, or the script is missing.
    /// Any other error is the script's own failure, which may have come half-way.
    fn note_executed(&self, reply: &Reply) {
        let calls = |script: &&str| !OF_THE_BACKEND.contains(script);
        let Some(script) = self.request.script.filter(calls) else {
            return;
        };
        if let Some(error) = reply.error() {
            if error.starts_with(b"ERR ") {
                let error = String::from_utf8_lossy(error);
                let message = format!("{script} failed, perhaps half-way: {error}");
                self.network.journal().note(Event::Broken("L12", message));
            }
            return;
        }
        if reply.is_nil() || reply.wants_keys() || reply.is_unlisted() {
            return;
        }
        if self.request.call.is_none() && !self.request.waits() && !self.note_given_back() {
            self.network.journal().reached("execution for no call");
        }
        self.executed();
    }

    /// Writes down the leases that a push made for calls that wait.
    fn note_handed_over(&self) {
        let handed_over = self
            .network
            .server_connection()
            .listeners()
            .take_handed_over();
        for HandedOverMessage { by, marker, token } in handed_over {
            let Some((queue, _)) = queue_of(&marker) else {
                continue;
            };
            let waits = |call: &Call| {
                matches!(call, Call::WaitToLease(lease_time, holder, _)
                    if *lease_time == by.lease_time && *holder == by.holder)
            };
            let journal = self.network.journal();
            let began = journal.handed_over(by.process, &queue, waits, token, self.now());
            if began.is_some_and(|began| began.order > by.after) {
                journal.reached("handed over by an earlier registration");
            }
        }
    }

    /// Notes the terms with which a process registers as waiting.
    fn note_registered(&self) {
        let request = self.request;
        if let (Some("waiting/join"), Some(registers)) =
            (request.script, request.arguments().get(1))
        {
            let after = self.network.journal().order();
            let mut server_connection = self.network.server_connection();
            let listeners = server_connection.listeners();
            listeners.registers(after, request.process, registers);
        }
    }

    /// Writes down a call that a client makes without a caller: it gives back a message that came for a caller that is
    /// gone. Returns true if the request was such a call.
    fn note_given_back(&self) -> bool {
        let request = self.request;
        let is_settle_and_lease = request
            .script
            .is_some_and(|script| script.ends_with("/settle_and_lease"));
        let settlements = request.arguments().iter().skip(6);
        let receipts: Option<Vec<Settlement>> = settlements.map(|each| released(each)).collect();
        let name = request.keys().first().and_then(|key| queue_of(key));
        let (Some(settlements), Some((name, _)), true) = (receipts, name, is_settle_and_lease)
        else {
            return false;
        };
        let journal = self.network.journal();
        let call = journal.began(request.process, &name, Call::Settle(settlements));
        journal.executed(call, self.now());
        journal.ended(call, CallEnd::Dropped);
        true
    }

    /// Executes a request as it is, and then asks for its queue's length.
    fn pass(&self, request: &Request) -> Option<(Reply, Option<Event>)> {
        if let Some(message) = stray(request) {
            self.network.journal().note(Event::Broken("slot", message));
        }
        let queue = bounded_queue(request, self.request);
        let served = self.network.serves();
        let served = served.and_then(|serves| serves.length.as_ref());
        let (reply, length) = self.network.with_server_connection(|server_connection| {
            let mut requests = Vec::with_capacity(1024);
            let called = call(server_connection, request, &mut requests);
            let mut count = 1;
            if let Some(queue) = &queue {
                count += queue.ask(&mut requests);
            }
            if let Some(length) = served {
                resp::encode(length, &mut requests);
                count += 1;
            }
            let mut replies = server_connection
                .execute(&requests, count)?
                .into_iter()
                .map(Reply);
            let reply = replies.next().unwrap_or_else(failed);
            if let (Some(at), None) = (called, reply.error()) {
                server_connection.scripts().came(at);
            }
            let holes = queue.as_ref().and_then(|_| replies.next());
            let length: Option<i64> = replies.map(|reply| reply.number()).sum();
            let length = length.map(|length| length - holes.map_or(0, |holes| field(&holes)));
            Ok((reply, length))
        })?;
        let name = match (queue, served) {
            (Some(queue), _) => Some(queue.name),
            (None, Some(_)) => Some(queue_name()),
            (None, None) => None,
        };
        let length = name.zip(length);
        let length = length.map(|(name, length)| Event::Length(name, length.unsigned_abs()));
        Some((reply, length))
    }

    fn note(&self, length: Option<Event>) {
        if let Some(length) = length {
            self.network.journal().note(length);
        }
    }
}

/// Writes a request for the server. Returns the position of the script that it brings along. The server got each text
/// once, and is not sent it again, because it would hash the whole text each time.
fn call(
    server_connection: &mut ServerConnection,
    request: &Request,
    out: &mut Vec<u8>,
) -> Option<usize> {
    let called = request
        .script
        .and_then(|_| server_connection.scripts().find(&request.words[1]));
    let Some(at) = called else {
        resp::encode(&request.words, out);
        return None;
    };
    let in_full = request.words[0].eq_ignore_ascii_case(b"EVAL");
    server_connection.load(at);
    let scripts = server_connection.scripts();
    let hash = if in_full {
        scripts.text_hash(at)
    } else {
        scripts.called(at)
    };
    resp::head(b'*', request.words.len(), out);
    resp::bulk(b"EVALSHA", out);
    resp::bulk(hash.as_bytes(), out);
    for word in &request.words[2..] {
        resp::bulk(word, out);
    }
    in_full.then_some(at)
}

fn failed() -> Reply {
    Reply(b"-ERR the server of the simulation failed\r\n".to_vec())
}
