//! The contents of records.
//!
//! Each queue, and each store of once keys, has a number, which is never given again. A record names the queue by it.

use std::time::Duration;

use queue_core::{BoundedConfig, Bytes, QueueConfig, QueueName, Token, call::Call};
use queue_memory::journal::Coded;

/// What happened, or a part of a stored state.
#[derive(Debug)]
pub(crate) enum Record {
    /// A queue was made.
    Open(QueueName, QueueConfig),
    /// A call took effect. A call that only reads is here as `Depth`, if it reclaimed or promoted messages.
    Call(Call),
    /// The stored configuration was changed.
    Reconfigure(QueueConfig),
    /// An open gave a bounded queue its capacity.
    OpenOrResize(BoundedConfig),
    /// The queue was removed, with its leases.
    Remove,
    /// A store of once keys was made.
    OpenOnce(QueueName),
    /// A call to a store took effect.
    Once(OnceCall),
    /// A part of a stored state.
    Part(Part),
}

/// A call to a store of once keys.
#[derive(Debug)]
pub(crate) enum OnceCall {
    Claim(Bytes, Duration),
    Extend(Bytes, Token, Duration),
    Finish(Bytes, Token, Duration),
    Release(Bytes, Token),
}

/// A part of the state after the record `upto`.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) upto: u64,
    pub(crate) is_last: bool,
    pub(crate) bytes: Bytes,
}

const TRIM: u8 = 0;
const OPEN: u8 = 1;
const CALL: u8 = 2;
const RECONFIGURE: u8 = 3;
const OPEN_OR_RESIZE: u8 = 4;
const REMOVE: u8 = 5;
const OPEN_ONCE: u8 = 6;
const ONCE: u8 = 7;
const PART: u8 = 8;

/// The bytes of a record: its kind, the number of its queue, and its values.
fn record(kind: u8, queue: u64, put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut content = vec![kind];
    queue.put(&mut content);
    put(&mut content);
    content
}

pub(crate) fn trim(from: u64) -> Vec<u8> {
    record(TRIM, from, |_| {})
}

pub(crate) fn open(queue: u64, name: &QueueName, config: &QueueConfig) -> Vec<u8> {
    record(OPEN, queue, |out| {
        name.put(out);
        config.put(out);
    })
}

pub(crate) fn call(queue: u64, call: &Call) -> Vec<u8> {
    record(CALL, queue, |out| call.put(out))
}

/// The record of a call that only reclaimed and promoted messages.
pub(crate) fn look(queue: u64) -> Vec<u8> {
    call(queue, &Call::Depth)
}

pub(crate) fn reconfigure(queue: u64, config: &QueueConfig) -> Vec<u8> {
    record(RECONFIGURE, queue, |out| config.put(out))
}

pub(crate) fn open_or_resize(queue: u64, config: &BoundedConfig) -> Vec<u8> {
    record(OPEN_OR_RESIZE, queue, |out| config.put(out))
}

pub(crate) fn remove(queue: u64) -> Vec<u8> {
    record(REMOVE, queue, |_| {})
}

pub(crate) fn open_once(queue: u64, name: &QueueName) -> Vec<u8> {
    record(OPEN_ONCE, queue, |out| name.put(out))
}

pub(crate) fn once(queue: u64, call: &OnceCall) -> Vec<u8> {
    record(ONCE, queue, |out| match call {
        OnceCall::Claim(key, time) => {
            out.push(0);
            key.put(out);
            time.put(out);
        }
        OnceCall::Extend(key, token, time) => {
            out.push(1);
            (key, token).put(out);
            time.put(out);
        }
        OnceCall::Finish(key, token, keep) => {
            out.push(2);
            (key, token).put(out);
            keep.put(out);
        }
        OnceCall::Release(key, token) => {
            out.push(3);
            (key, token).put(out);
        }
    })
}

pub(crate) fn part(queue: u64, upto: u64, number: u64, is_last: bool, bytes: &[u8]) -> Vec<u8> {
    record(PART, queue, |out| {
        (upto, number).put(out);
        is_last.put(out);
        bytes.len().put(out);
        out.extend_from_slice(bytes);
    })
}

/// What a first look at a record tells.
#[derive(Debug)]
pub(crate) enum Glance {
    Trim(u64),
    Removed(u64),
    Part {
        queue: u64,
        upto: u64,
        number: u64,
        is_last: bool,
    },
    Other(u64),
}

pub(crate) fn glance(mut content: &[u8]) -> Option<Glance> {
    let kind = u8::get(&mut content)?;
    let queue = u64::get(&mut content)?;
    Some(match kind {
        TRIM => Glance::Trim(queue),
        REMOVE => Glance::Removed(queue),
        PART => {
            let (upto, number) = Coded::get(&mut content)?;
            Glance::Part {
                queue,
                upto,
                number,
                is_last: Coded::get(&mut content)?,
            }
        }
        _ => Glance::Other(queue),
    })
}

/// Reads a record, and the number of its queue.
pub(crate) fn read(mut content: &[u8]) -> Option<(u64, Record)> {
    let input = &mut content;
    let kind = u8::get(input)?;
    let queue = u64::get(input)?;
    let record = match kind {
        OPEN => Record::Open(Coded::get(input)?, Coded::get(input)?),
        CALL => Record::Call(Coded::get(input)?),
        RECONFIGURE => Record::Reconfigure(Coded::get(input)?),
        OPEN_OR_RESIZE => Record::OpenOrResize(Coded::get(input)?),
        REMOVE => Record::Remove,
        OPEN_ONCE => Record::OpenOnce(Coded::get(input)?),
        ONCE => Record::Once(match u8::get(input)? {
            0 => OnceCall::Claim(Coded::get(input)?, Coded::get(input)?),
            1 => OnceCall::Extend(Coded::get(input)?, Coded::get(input)?, Coded::get(input)?),
            2 => OnceCall::Finish(Coded::get(input)?, Coded::get(input)?, Coded::get(input)?),
            3 => OnceCall::Release(Coded::get(input)?, Coded::get(input)?),
            _ => return None,
        }),
        PART => {
            let (upto, _number): (u64, u64) = Coded::get(input)?;
            Record::Part(Part {
                upto,
                is_last: Coded::get(input)?,
                bytes: Coded::get(input)?,
            })
        }
        _ => return None,
    };
    input.is_empty().then_some((queue, record))
}
