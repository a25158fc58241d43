//! The server's work on a request that has arrived.

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{MessageId, QueueName, Receipt, Settlement, Timestamp, Token, call::Call};
use tokio::time::Instant;

use super::{
    Reply, Request,
    listeners::HandedOver,
    machine::Machine,
    network::Network,
    resp,
    rewrite::{Execute, Steps},
};
use crate::{
    engine::yield_now,
    history::{Event, Outcome},
    run::queue_name,
};

/// The scripts that open and remove queues. They make no call of a queue.
const OF_THE_BACKEND: [&str; 2] = ["open", "remove"];

/// One request being executed.
pub(super) struct Executing<'a> {
    network: &'a Network,
    request: &'a Request,
    told: AtomicBool,
}

/// Executes a request that has arrived. Without a reply, the server itself has failed.
pub(super) async fn execute(network: &Network, mut request: Request) -> Option<Reply> {
    if let Some(refused) = refusal(&request) {
        return Some(refused);
    }
    let at = request.script.is_some().then(|| request.words[1].clone());
    let there = at.is_none_or(|word| is_there(network, &request, &word));
    request.set_time(network.now());
    let mut expiry = None;
    if network.served().is_some() {
        network.expire()?;
        expiry = take_expiry(&mut request);
    }
    let executing = Executing {
        network,
        request: &request,
        told: AtomicBool::new(false),
    };
    if let (Some(rewrite), true) = (network.rewrite(), there) {
        let steps = Steps(&executing);
        if let Some(reply) = rewrite.rewrite(request.clone(), &steps).await {
            if !executing.told.load(Ordering::Relaxed) {
                executing.tell(&reply);
            }
            return Some(reply);
        }
    }
    executing.note_registered();
    let (reply, length) = executing.pass(&request)?;
    executing.tell(&reply);
    executing.tell_handed_over();
    executing.note(length);
    if let Some((end, key)) = expiry.filter(|_| !reply.is_nil()) {
        network.ends(end, key);
    }
    if !reply.is_nil() && changes_lists(&request) {
        network.has_executed();
    }
    Some(reply)
}

/// Takes `PX` and milliseconds, the last words of a `SET`, out of it: the key's end, and the key.
fn take_expiry(request: &mut Request) -> Option<(Instant, Bytes)> {
    let [_, key, .., px, millis] = &*request.words else {
        return None;
    };
    if !px.eq_ignore_ascii_case(b"PX") {
        return None;
    }
    let millis = Duration::from_millis(resp::number(millis)?.unsigned_abs());
    let expiry = (Instant::now() + millis, key.clone());
    request.words.truncate(request.words.len() - 2);
    Some(expiry)
}

/// Whether a request may put something into a list. A pop that blocks pops by itself.
fn changes_lists(request: &Request) -> bool {
    const POPS: [&[u8]; 2] = [b"RPOP", b"LPOP"];
    let verb = &request.words[0];
    !POPS.iter().any(|pop| verb.eq_ignore_ascii_case(pop))
}

/// Whether the server has the script of the request, or the request brings it.
fn is_there(network: &Network, request: &Request, word: &[u8]) -> bool {
    if request.words[0].eq_ignore_ascii_case(b"EVAL") {
        return true;
    }
    let mut machine = network.machine();
    let scripts = machine.scripts();
    let found = scripts.find(word);
    found.is_some_and(|at| scripts.is_there(at))
}

/// The refusal of a command that would leave a state behind on the connection, which all wires
/// share.
fn refusal(request: &Request) -> Option<Reply> {
    const WITH_STATE: [&[u8]; 7] = [
        b"SELECT", b"MULTI", b"EXEC", b"WATCH", b"MONITOR", b"AUTH", b"RESET",
    ];
    let verb = &request.words[0];
    let refused = WITH_STATE
        .iter()
        .any(|other| verb.eq_ignore_ascii_case(other));
    let text = || {
        let verb = String::from_utf8_lossy(verb);
        format!("-ERR the simulated wire has no {verb}: teach it\r\n").into_bytes()
    };
    refused.then(|| Reply(text()))
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
        self.told.store(true, Ordering::Relaxed);
        if let Some(call) = self.request.call {
            self.network.journal().executed(call, self.now());
        }
    }
}

impl Executing<'_> {
    /// Tells what the reply shows. Every script answers nothing, or an error, before it does
    /// anything: the queue does not exist, the configuration differs, the script is missing; or it
    /// asks for keys that it lacks. Any other error is the script's own failure, which may have come
    /// half-way.
    fn tell(&self, reply: &Reply) {
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
        if reply.is_nil() || reply.wants_keys() {
            return;
        }
        if self.request.call.is_none() && !self.request.waits() && !self.tell_given_back() {
            self.network.journal().reached("execution for no call");
        }
        self.executed();
    }

    /// Tells of the leases that a push made for calls that wait.
    fn tell_handed_over(&self) {
        let handed_over = self.network.machine().listeners().take_handed_over();
        for HandedOver { by, marker, token } in handed_over {
            let Some((queue, _)) = queue_of(&marker) else {
                continue;
            };
            let waits = |call: &Call| {
                matches!(call, Call::WaitToLease(ttl, holder, _)
                    if *ttl == by.ttl && *holder == by.holder)
            };
            let journal = self.network.journal();
            let began = journal.handed_over(by.lane, &queue, waits, token, self.now());
            if began.is_some_and(|began| began.order > by.after) {
                journal.reached("handed over by an earlier registration");
            }
        }
    }

    /// Notes the terms with which a process registers as one that waits.
    fn note_registered(&self) {
        let request = self.request;
        if let (Some("waiting/join"), Some(registers)) =
            (request.script, request.arguments().get(1))
        {
            let after = self.network.journal().order();
            let mut machine = self.network.machine();
            let listeners = machine.listeners();
            listeners.registers(after, request.lane, registers);
        }
    }

    /// Tells of a call that a client makes by itself: it gives back what came for a caller that is gone.
    /// Answers whether it was one.
    fn tell_given_back(&self) -> bool {
        let request = self.request;
        let is_turn = request
            .script
            .is_some_and(|script| script.ends_with("/turn"));
        let settlements = request.arguments().iter().skip(6);
        let receipts: Option<Vec<Settlement>> = settlements.map(|each| released(each)).collect();
        let name = request.keys().first().and_then(|key| queue_of(key));
        let (Some(settlements), Some((name, _)), true) = (receipts, name, is_turn) else {
            return false;
        };
        let journal = self.network.journal();
        let call = journal.began(request.lane, &name, Call::Settle(settlements));
        journal.executed(call, self.now());
        journal.ended(call, Outcome::Dropped);
        true
    }

    /// Executes a request as it is, and then asks for its queue's length.
    fn pass(&self, request: &Request) -> Option<(Reply, Option<Event>)> {
        self.look_at_slots(request);
        let queue = bounded_queue(request, self.request);
        let served = self
            .network
            .served()
            .and_then(|served| served.length.as_ref());
        let (reply, length) = self.network.with_machine(|machine| {
            let mut requests = Vec::with_capacity(1024);
            let called = call(machine, request, &mut requests);
            let mut count = 1;
            if let Some(queue) = &queue {
                count += queue.ask(&mut requests);
            }
            if let Some(length) = served {
                resp::encode(length, &mut requests);
                count += 1;
            }
            let mut replies = machine.execute(&requests, count)?.into_iter().map(Reply);
            let reply = replies.next().unwrap_or_else(failed);
            if let (Some(at), None) = (called, reply.error()) {
                machine.scripts().came(at);
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

    /// A cluster refuses a script whose keys are in several slots; this server does not.
    fn look_at_slots(&self, request: &Request) {
        let mut keys = request.keys().iter();
        let Some(first) = keys.next() else {
            return;
        };
        if let Some(stray) = keys.find(|key| hash_tag(key) != hash_tag(first)) {
            let (first, stray) = (first.escape_ascii(), stray.escape_ascii());
            let message = format!("{first} and {stray} are in different slots of a cluster");
            self.network.journal().note(Event::Broken("slot", message));
        }
    }

    fn note(&self, length: Option<Event>) {
        if let Some(length) = length {
            self.network.journal().note(length);
        }
    }
}

/// The part of a key that decides its slot in a cluster.
fn hash_tag(key: &[u8]) -> &[u8] {
    let tag = || {
        let start = 1 + key.iter().position(|byte| *byte == b'{')?;
        let length = key[start..].iter().position(|byte| *byte == b'}')?;
        (length > 0).then(|| &key[start..start + length])
    };
    tag().unwrap_or(key)
}

/// Writes a request for the server. Answers the position of the script that it brings along. The server
/// has got each text once, and is not sent it again: it would take a hash of the whole each time.
fn call(machine: &mut Machine, request: &Request, out: &mut Vec<u8>) -> Option<usize> {
    let called = request
        .script
        .and_then(|_| machine.scripts().find(&request.words[1]));
    let Some(at) = called else {
        resp::encode(&request.words, out);
        return None;
    };
    let in_full = request.words[0].eq_ignore_ascii_case(b"EVAL");
    machine.load(at);
    let scripts = machine.scripts();
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

/// A bounded queue. The wire asks for its length after every request on it.
struct BoundedQueue {
    name: QueueName,
    /// The beginning of its keys.
    base: String,
}

impl BoundedQueue {
    /// Asks for the number of cancelled messages in the list of ready ones, and then for the numbers
    /// of ready, delayed and leased messages. Answers the number of questions.
    fn ask(&self, out: &mut Vec<u8>) -> usize {
        let meta = format!("{}meta", self.base);
        resp::encode(&["HGET", &meta[..], "holes"], out);
        let parts = [
            ("LLEN", "ready"),
            ("ZCARD", "line"),
            ("ZCARD", "delayed"),
            ("ZCARD", "leases"),
        ];
        for (count, part) in parts {
            let key = format!("{}{part}", self.base);
            resp::encode(&[count.as_bytes(), key.as_bytes()], out);
        }
        1 + parts.len()
    }
}

/// The number in a field of a hash; a field that is not there counts as 0.
fn field(reply: &Reply) -> i64 {
    let value = reply.value().ok();
    let number: Option<Option<i64>> = value.and_then(|value| redis::from_redis_value(value).ok());
    number.flatten().unwrap_or(0)
}

/// The bounded queue that `part` of a request acts on, if any.
fn bounded_queue(part: &Request, whole: &Request) -> Option<BoundedQueue> {
    let bounded = whole.script?.starts_with("bounded/");
    let key = match part.script {
        Some(_) => part.keys().first()?,
        None => whole.keys().first()?,
    };
    if !bounded {
        return None;
    }
    let (name, base) = queue_of(key)?;
    let base = base.to_owned();
    Some(BoundedQueue { name, base })
}

/// The queue of a key, and the beginning of its keys.
fn queue_of(key: &[u8]) -> Option<(QueueName, &str)> {
    let key = std::str::from_utf8(key).ok()?;
    let (tag, last) = (key.find('{')?, key.rfind("}:")?);
    let name = QueueName::new(&key[tag + 1..last]).ok()?;
    Some((name, &key[..last + 2]))
}

/// The settlement of a turn's argument, if it is a release.
fn released(argument: &[u8]) -> Option<Settlement> {
    let [b'l', id @ .., _, _, _, _, _, _, _] = argument else {
        return None;
    };
    let token = resp::big_endian(&argument[argument.len() - 7..]);
    let receipt = Receipt::new(MessageId::new(resp::big_endian(id)), Token::new(token));
    Some(Settlement::release(receipt))
}

fn failed() -> Reply {
    Reply(b"-ERR the server of the simulation failed\r\n".to_vec())
}

impl fmt::Debug for Executing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executing")
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}
