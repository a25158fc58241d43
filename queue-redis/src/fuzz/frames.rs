//! Stored messages.

use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*};
use queue_core::{Headers, Place, Timestamp};
use queue_fuzz::hold_for;
use redis::ToRedisArgs;

use super::{any_or_damaged, bytes};
use crate::frame::{self, Content, Dead, Frame, HEAD, PRIORITY_HEAD, Payload, Shown, wide};

const CASES: u32 = 2_000;

fn headers() -> impl Strategy<Value = Headers> {
    vec((".{0,9}", ".{0,9}"), 0..4).prop_map(|entries| entries.into_iter().collect())
}

fn written(headers: &Headers, body: Vec<u8>) -> Vec<u8> {
    let body = Bytes::from(body);
    let payload = Payload {
        headers,
        body: &body,
    };
    payload.to_redis_args().remove(0)
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let here = (headers(), bytes()).prop_map(|(headers, body)| written(&headers, body));
    let apart = any::<([u8; 16], u16)>()
        .prop_map(|(reference, size)| frame::apart(size.into(), &reference).to_vec());
    prop_oneof![4 => here, 1 => apart]
}

/// A frame with a head of this many bytes, as scripts write it.
fn framed(head: usize) -> impl Strategy<Value = Vec<u8>> {
    let past = option::of((any::<u32>(), any::<u32>(), ".{0,9}"));
    (any::<u32>(), any::<u32>(), past, content()).prop_map(move |(id, since, past, content)| {
        let mut bytes = vec![if past.is_some() { 255 } else { 3 }];
        bytes.extend(wide(id.into()));
        bytes.extend(wide(since.into()));
        bytes.resize(head, 0);
        if let Some((attempts, pushed, failure)) = past {
            bytes.extend(attempts.to_be_bytes());
            bytes.extend(wide(pushed.into()));
            bytes.extend(u16::try_from(failure.len()).expect("short").to_be_bytes());
            bytes.extend(failure.as_bytes());
        }
        bytes.extend(content);
        bytes
    })
}

fn record(head: usize) -> impl Strategy<Value = Vec<u8>> {
    let why = prop::sample::select(b"breod".to_vec());
    (any::<u32>(), why, ".{0,9}", framed(head)).prop_map(|(died, why, reason, frame)| {
        let mut bytes = wide(died.into()).to_vec();
        bytes.push(why);
        bytes.extend(u16::try_from(reason.len()).expect("short").to_be_bytes());
        bytes.extend(reason.as_bytes());
        bytes.extend(frame);
        bytes
    })
}

#[test]
fn a_frame_is_read_or_is_none() {
    for head in [HEAD, PRIORITY_HEAD] {
        hold_for(CASES, any_or_damaged(framed(head)), |bytes| {
            let length = bytes.len();
            let Some(frame) = Frame::read(bytes.into(), head) else {
                return;
            };
            let told = frame.failure.as_deref().map_or(0, str::len);
            if let Some(delivery) = frame.delivery(u64::MAX, std::time::Duration::MAX) {
                let size = delivery.body.len() + delivery.headers.size();
                assert!(size + told.min(length) <= 4 * length, "it is made up");
            }
        });
    }
}

#[test]
fn a_dead_letter_is_read_or_is_none() {
    for head in [HEAD, PRIORITY_HEAD] {
        hold_for(CASES, any_or_damaged(record(head)), |bytes| {
            let _ = Dead::read(bytes.into(), head).map(Dead::letter);
        });
    }
}

#[test]
fn what_a_peek_shows_is_read_or_is_none() {
    let shown = (any_or_damaged(framed(HEAD)), any_or_damaged(bytes()));
    let times = any::<(u64, u64)>();
    hold_for(CASES, (shown, times), |((frame, lease), (now, time))| {
        for place in [Place::Ready, Place::Delayed, Place::Leased] {
            let (frame, lease) = (Bytes::from(frame.clone()), Bytes::from(lease.clone()));
            let (now, time) = (Timestamp::from_millis(now), Timestamp::from_millis(time));
            let shown = Shown::read(frame, HEAD, place, now, time, lease);
            drop(shown.and_then(Shown::peeked));
        }
    });
}

#[test]
fn headers_and_body_come_back() {
    hold_for(CASES, (headers(), bytes()), |(headers, body)| {
        let read = frame::payload(written(&headers, body.clone()).into());
        assert_eq!(read, Some((headers, body.into())));
    });
}

#[test]
fn content_is_read_or_is_none() {
    hold_for(CASES, any_or_damaged(content()), |bytes| {
        let bytes = Bytes::from(bytes);
        let _ = Content::read(bytes.clone());
        drop(frame::payload(bytes.clone()));
        assert!(frame::id(bytes.clone()).is_none() || bytes.len() == 7);
    });
}
