//! Harm that others may do to one key of a queue.

use std::collections::BTreeSet;

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};
use redis::{Connection, FromRedisValue};

/// Numbers that no script writes.
const ABSURD: &[&str] = &[
    "inf",
    "-inf",
    "1e300",
    "-1e300",
    "-1",
    "0",
    "0.5",
    "9007199254740993",
    "72057594037927936",
    "9223372036854775807",
];
/// Values in place of a number.
const NO_NUMBER: &[&str] = &[
    "",
    "abc",
    "nan",
    "-",
    "12 monkeys",
    "99999999999999999999999",
    "\n\r",
    "é",
];

/// Harm done to one entry of one key.
#[derive(Debug, Clone)]
pub(crate) struct Harm {
    key: Index,
    entry: Index,
    how: How,
}

#[derive(Debug, Clone)]
enum How {
    Delete,
    Cut(Index),
    Flip(Index, u8),
    Replace(Vec<u8>),
    /// A score, or a field that is a number.
    Number(&'static str),
    NoNumber(&'static str),
    Add(Vec<u8>),
}

pub(crate) fn harm() -> impl Strategy<Value = Harm> {
    let bytes = || vec(any::<u8>(), 0..40);
    let how = prop_oneof![
        2 => Just(How::Delete),
        3 => any::<Index>().prop_map(How::Cut),
        3 => (any::<Index>(), 1..=255_u8).prop_map(|(at, bits)| How::Flip(at, bits)),
        2 => bytes().prop_map(How::Replace),
        3 => select(ABSURD).prop_map(How::Number),
        2 => select(NO_NUMBER).prop_map(How::NoNumber),
        1 => bytes().prop_map(How::Add),
    ];
    (any::<Index>(), any::<Index>(), how).prop_map(|(key, entry, how)| Harm { key, entry, how })
}

/// The harm that was done.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// The key's last part.
    pub(crate) suffix: String,
    /// The field, member or element, as it was.
    pub(crate) entry: Vec<u8>,
    /// The ids that may be in it, before and after.
    pub(crate) ids: BTreeSet<Vec<u8>>,
}

impl Done {
    fn to(mut self, bytes: &[u8]) -> Self {
        // An id is 7 bytes: first in a lease, last in a place, and behind a byte in a frame.
        for part in [bytes.first_chunk::<7>(), bytes.last_chunk::<7>()] {
            self.ids.extend(part.map(|id| id.to_vec()));
        }
        self.ids.extend(bytes.get(1..8).map(<[u8]>::to_vec));
        self
    }
}

pub(crate) fn ask<T: FromRedisValue>(
    connection: &mut Connection,
    command: &str,
    args: &[&[u8]],
) -> T {
    let mut request = redis::cmd(command);
    request.arg(args);
    let answer = request.query(connection);
    answer.unwrap_or_else(|error| panic!("{command} {args:?}: {error}"))
}

impl Harm {
    /// Harms one of these keys.
    pub(crate) fn done_to(&self, connection: &mut Connection, keys: &[String]) -> Done {
        let key = &keys[self.key.index(keys.len())];
        let done = Done {
            suffix: key.rsplit(':').next().unwrap_or_default().to_owned(),
            ..Done::default()
        };
        let key = key.as_bytes();
        match &*ask::<String>(connection, "TYPE", &[key]) {
            "hash" => self.to_hash(connection, key, done),
            "zset" => self.to_zset(connection, key, done),
            "list" => self.to_list(connection, key, done),
            // The earlier harm removed its last entry.
            "none" => done,
            other => panic!("no key of ours is a {other}"),
        }
    }

    fn to_hash(&self, connection: &mut Connection, key: &[u8], done: Done) -> Done {
        let mut fields: Vec<Vec<u8>> = ask(connection, "HKEYS", &[key]);
        fields.sort();
        let field = fields.swap_remove(self.entry.index(fields.len()));
        let value: Vec<u8> = ask(connection, "HGET", &[key, &field]);
        let mut done = done.to(&field).to(&value);
        done.entry.clone_from(&field);
        let new = match &self.how {
            How::Delete => {
                ask::<()>(connection, "HDEL", &[key, &field]);
                return done;
            }
            How::Add(bytes) => {
                ask::<()>(connection, "HSET", &[key, bytes, &value]);
                return done.to(bytes);
            }
            how => how.of(&value),
        };
        ask::<()>(connection, "HSET", &[key, &field, &new]);
        done.to(&new)
    }

    fn to_zset(&self, connection: &mut Connection, key: &[u8], done: Done) -> Done {
        let members: Vec<Vec<u8>> = ask(connection, "ZRANGE", &[key, b"0", b"-1"]);
        let member = &members[self.entry.index(members.len())];
        let mut done = done.to(member);
        done.entry.clone_from(member);
        let score: String = ask(connection, "ZSCORE", &[key, member]);
        match &self.how {
            How::Number(score) => ask::<()>(connection, "ZADD", &[key, score.as_bytes(), member]),
            How::Delete => ask::<()>(connection, "ZREM", &[key, member]),
            How::Add(bytes) => {
                ask::<()>(connection, "ZADD", &[key, score.as_bytes(), bytes]);
                done = done.to(bytes);
            }
            how => {
                let new = how.of(member);
                ask::<()>(connection, "ZREM", &[key, member]);
                ask::<()>(connection, "ZADD", &[key, score.as_bytes(), &new]);
                done = done.to(&new);
            }
        }
        done
    }

    fn to_list(&self, connection: &mut Connection, key: &[u8], done: Done) -> Done {
        let elements: Vec<Vec<u8>> = ask(connection, "LRANGE", &[key, b"0", b"-1"]);
        let at = self.entry.index(elements.len());
        let mut done = done.to(&elements[at]);
        done.ids.extend(ids_of_pack(&elements, at));
        done.entry.clone_from(&elements[at]);
        let index = at.to_string();
        let new = match &self.how {
            How::Delete => {
                ask::<()>(connection, "LREM", &[key, b"1", &elements[at]]);
                return done;
            }
            How::Add(bytes) => {
                ask::<()>(
                    connection,
                    "LINSERT",
                    &[key, b"BEFORE", &elements[at], bytes],
                );
                return done.to(bytes);
            }
            how => how.of(&elements[at]),
        };
        ask::<()>(connection, "LSET", &[key, index.as_bytes(), &new]);
        done.to(&new)
    }
}

/// The ids in the pack of this element, which is its head or one of the messages behind it.
fn ids_of_pack(elements: &[Vec<u8>], at: usize) -> Vec<Vec<u8>> {
    let head = match elements[at].first() {
        Some(253) if at > 0 => &elements[at - 1],
        _ => &elements[at],
    };
    let [254, first @ .., count] = &head[..head.len().min(16)] else {
        return Vec::new();
    };
    let first = first
        .iter()
        .take(7)
        .fold(0, |id, byte| id << 8 | u64::from(*byte));
    let ids = (first..).take(usize::from(*count));
    ids.map(|id| id.to_be_bytes()[1..].to_vec()).collect()
}

impl How {
    /// Other bytes in place of these.
    fn of(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Self::Cut(at) => bytes.truncate(at.index(bytes.len().max(1))),
            Self::Flip(at, bits) => {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] ^= bits;
                }
            }
            Self::Replace(new) => bytes.clone_from(new),
            Self::Number(number) | Self::NoNumber(number) => bytes = number.as_bytes().to_vec(),
            Self::Delete | Self::Add(_) => {}
        }
        bytes
    }
}
