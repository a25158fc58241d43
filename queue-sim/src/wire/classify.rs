//! The sorts of requests, and the replies to requests that do not touch the data.

use bytes::Bytes;

use super::{Reply, Request, listeners::ConnectionId, network::Network, resp, scripts::Scripts};
use crate::plan::Chance;

/// `n`, if faults strike the beginning of a connection, or the opening of a queue, at one in `n` chances. Both take
/// many requests, so hardly any would succeed otherwise.
const SETUP_RARELY: Chance = 4;
/// Almost never.
const NEVER: Chance = 10_000;

/// The sorts of requests.
pub(super) enum RequestClass {
    /// The request is sent to the server.
    Data,
    /// The request is sent to the server, and waits there for something to pop.
    Blocks,
    /// The connection listens to a channel from now on.
    Listens,
    /// The first request of a connection.
    Hello,
    /// A later request that sets up a connection.
    Setup,
}

impl RequestClass {
    pub(super) fn of(request: &Request) -> Self {
        let word = |at: usize| request.words.get(at).map(|word| word.to_ascii_uppercase());
        let (verb, object) = (word(0).unwrap_or_default(), word(1));
        match (&*verb, object.as_deref()) {
            (b"SUBSCRIBE", _) => Self::Listens,
            (b"BRPOP" | b"BLPOP" | b"BRPOPLPUSH", _) => Self::Blocks,
            (b"HELLO", _) => Self::Hello,
            (b"INFO", _)
            | (b"CONFIG", Some(b"GET"))
            | (b"CLIENT", Some(b"SETINFO"))
            | (b"SCRIPT", Some(b"EXISTS" | b"LOAD")) => Self::Setup,
            (b"EVAL", _) if asks_for_rights(request) => Self::Setup,
            _ => Self::Data,
        }
    }

    /// `n`, if faults strike at one in `n` of their chances. `plain` says that plain commands are a backend's calls.
    pub(super) fn rarely(&self, request: &Request, plain: bool) -> Chance {
        match self {
            Self::Hello | Self::Listens => SETUP_RARELY,
            Self::Setup => NEVER,
            Self::Blocks => 1,
            Self::Data if plain => 1,
            Self::Data if request.call.is_none() && !request.waits() => SETUP_RARELY,
            Self::Data => 1,
        }
    }
}

/// Whether it is the script by which a connection checks its user's rights.
fn asks_for_rights(request: &Request) -> bool {
    let text = request.words.get(1).filter(|_| request.script.is_none());
    text.is_some_and(|text| String::from_utf8_lossy(text).contains("acl_check_cmd"))
}

/// Replies to a request that does not touch the data: the beginning of a connection, its number, the server's facts,
/// its scripts.
pub(super) fn set_up(network: &Network, id: ConnectionId, request: &Request) -> Option<Reply> {
    let words = &request.words;
    let has = |at: usize, text: &str| {
        let word = words.get(at);
        word.is_some_and(|word| word.eq_ignore_ascii_case(text.as_bytes()))
    };
    let reply = network.with_server_connection(|server_connection| {
        if has(0, "SCRIPT") && has(1, "EXISTS") {
            return Ok(exist(server_connection.scripts(), &words[2..]));
        }
        if has(0, "SCRIPT") && has(1, "LOAD") {
            return Ok(load(server_connection.scripts(), &words[2..]));
        }
        let mut bytes = Vec::new();
        resp::encode(words, &mut bytes);
        let reply = server_connection.known(&bytes.into())?;
        Ok(if has(0, "HELLO") {
            numbered(&reply, id)
        } else {
            reply
        })
    });
    reply.map(Reply)
}

/// The reply to `SCRIPT EXISTS`.
fn exist(scripts: &Scripts, hashes: &[Bytes]) -> Vec<u8> {
    let mut reply = Vec::with_capacity(256);
    resp::head(b'*', hashes.len(), &mut reply);
    for hash in hashes {
        let there = scripts.find(hash).is_some_and(|at| scripts.is_there(at));
        resp::head(b':', usize::from(there), &mut reply);
    }
    reply
}

/// The reply to `SCRIPT LOAD`. The server gets the script before its next call.
fn load(scripts: &mut Scripts, text: &[Bytes]) -> Vec<u8> {
    let Some(at) = text.first().and_then(|text| scripts.find(text)) else {
        return b"-ERR the simulated wire only loads the scripts of queue-redis\r\n".to_vec();
    };
    scripts.came(at);
    let mut reply = Vec::new();
    resp::bulk(scripts.hash(at).as_bytes(), &mut reply);
    reply
}

/// The reply to `HELLO`, with this number as the connection's.
fn numbered(reply: &[u8], id: ConnectionId) -> Vec<u8> {
    const FIELD: &[u8] = b"$2\r\nid\r\n:";
    let Some(field) = reply.windows(FIELD.len()).position(|part| part == FIELD) else {
        return reply.to_vec();
    };
    let digits = field + FIELD.len();
    let end = reply[digits..].iter().position(|byte| *byte == b'\r');
    let end = digits + end.unwrap_or(0);
    [&reply[..digits], id.to_string().as_bytes(), &reply[end..]].concat()
}
