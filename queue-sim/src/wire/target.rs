//! The target of a request: its queue, and its keys.

use std::time::Duration;

use bytes::Bytes;
use queue_core::{MessageId, QueueName, Receipt, Settlement, Token};
use tokio::time::Instant;

use super::{Reply, Request, resp};

/// The refusal of a command that would leave a state behind on the connection that all wires share.
pub(super) fn refusal(request: &Request) -> Option<Reply> {
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

/// Takes the last words of a `SET`, `PX` and milliseconds, out of the request. Returns the key's end, and the key.
pub(super) fn take_expiry(request: &mut Request) -> Option<(Instant, Bytes)> {
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

/// Whether a request may put something into a list. Blocking pops are served separately.
pub(super) fn changes_lists(request: &Request) -> bool {
    const POPS: [&[u8]; 2] = [b"RPOP", b"LPOP"];
    let verb = &request.words[0];
    !POPS.iter().any(|pop| verb.eq_ignore_ascii_case(pop))
}

/// Names a key of a script that is in another slot than the first, if any: a cluster refuses such a script, and this
/// server does not.
pub(super) fn stray(request: &Request) -> Option<String> {
    let mut keys = request.keys().iter();
    let first = keys.next()?;
    let stray = keys.find(|key| hash_tag(key) != hash_tag(first))?;
    let (first, stray) = (first.escape_ascii(), stray.escape_ascii());
    Some(format!(
        "{first} and {stray} are in different slots of a cluster"
    ))
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

/// A bounded queue. The wire asks for its length after every request on it.
pub(super) struct BoundedQueue {
    pub(super) name: QueueName,
    /// The beginning of its keys.
    base: String,
}

impl BoundedQueue {
    /// Asks for the number of cancelled messages in the list of ready ones, and then for the numbers of ready, delayed
    /// and leased messages. Returns the number of commands.
    pub(super) fn ask(&self, out: &mut Vec<u8>) -> usize {
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
pub(super) fn field(reply: &Reply) -> i64 {
    let value = reply.value().ok();
    let number: Option<Option<i64>> = value.and_then(|value| redis::from_redis_value(value).ok());
    number.flatten().unwrap_or(0)
}

/// The bounded queue that `part` of a request acts on, if any.
pub(super) fn bounded_queue(part: &Request, whole: &Request) -> Option<BoundedQueue> {
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
pub(super) fn queue_of(key: &[u8]) -> Option<(QueueName, &str)> {
    let key = std::str::from_utf8(key).ok()?;
    let (tag, last) = (key.find('{')?, key.rfind("}:")?);
    let name = QueueName::new(&key[tag + 1..last]).ok()?;
    Some((name, &key[..last + 2]))
}

/// The settlement in an argument of `settle_and_lease`, if it is a release.
pub(super) fn released(argument: &[u8]) -> Option<Settlement> {
    let [b'l', id @ .., _, _, _, _, _, _, _] = argument else {
        return None;
    };
    let token = resp::big_endian(&argument[argument.len() - 7..]);
    let receipt = Receipt::new(MessageId::new(resp::big_endian(id)), Token::new(token));
    Some(Settlement::release(receipt))
}
