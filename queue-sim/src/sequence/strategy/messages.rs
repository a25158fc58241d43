//! Messages to put in: bodies that are often equal (D3), keys that often collide.

use std::sync::LazyLock;

use bytes::Bytes;
use proptest::{option, prelude::*, sample::select};
use queue_core::{Distinct, Headers, Insert, Outdated, Push, TimeToLive};

use super::amounts::{due, limit, window};

/// Two of these fit neither into a batch nor into an answer. All messages share it, so that a batch
/// of them costs nothing.
static LARGE: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![b'l'; 5 * 1024 * 1024]));

/// How often a message has a time to live.
const SHORT_LIVED: f64 = 0.2;

/// A message, with a due time this often.
pub(super) fn push(due_in: f64) -> impl Strategy<Value = Push> + Clone {
    let dedup = option::weighted(0.3, (key(), window(), any::<bool>()));
    let due = option::weighted(due_in, due());
    let time = option::weighted(SHORT_LIVED, time_to_live());
    let distinct = option::weighted(0.3, (key(), option::of(limit())));
    let message = (body(), headers(), dedup, due, time, distinct);
    message.prop_map(|(body, headers, dedup, due, time_to_live, distinct)| {
        let mut push = Push::new(body).with_headers(headers);
        push.due = due;
        push.time_to_live = time_to_live;
        push.distinct = distinct.map(|(key, longest)| {
            let mut distinct = Distinct::new(key);
            distinct.longest = longest;
            distinct
        });
        match dedup {
            Some((key, longest, true)) => push.with_unique(key, longest),
            Some((key, window, false)) => push.with_dedup(key, window),
            None => push,
        }
    })
}

fn time_to_live() -> impl Strategy<Value = TimeToLive> + Clone {
    let then = select(vec![Outdated::Drop, Outdated::Bury]);
    (limit(), then).prop_map(|(limit, then)| TimeToLive { limit, then })
}

pub(super) fn insert() -> impl Strategy<Value = Insert> + Clone {
    (body(), headers(), option::weighted(0.5, key())).prop_map(|(body, headers, key)| {
        let item = Insert::new(body).with_headers(headers);
        match key {
            Some(key) => item.with_key(key),
            None => item,
        }
    })
}

/// A message of which two fit into no answer.
pub(super) fn large() -> Push {
    Push::new(LARGE.clone())
}

/// The key with this number.
pub(super) fn numbered(number: u8) -> Bytes {
    Bytes::from(vec![b'k', number])
}

/// Few keys; now and then an empty key, or a key that is too long.
fn key() -> impl Strategy<Value = Bytes> + Clone {
    prop_oneof![
        60 => (0..=2_u8).prop_map(numbered),
        6 => (200..=202_u8).prop_map(numbered),
        1 => select(vec![0, 257]).prop_map(|len| Bytes::from(vec![b'k'; len])),
    ]
}

fn body() -> impl Strategy<Value = Bytes> + Clone {
    let few = |len| (select(vec![b'a', b'b']), len);
    let few = |len| few(len).prop_map(|(byte, len)| Bytes::from(vec![byte; len]));
    prop_oneof![
        // Seldom, because a server reads every byte of each large body each time.
        290 => few(select(vec![0, 1, 2])),
        9 => few(select(vec![14, 15, 16, 17])),
        1 => Just(()).prop_map(|()| LARGE.clone()),
    ]
}

fn headers() -> impl Strategy<Value = Headers> + Clone {
    prop_oneof![
        5 => Just(Headers::new()),
        1 => Just(Headers::new().with("h", "1")),
    ]
}
