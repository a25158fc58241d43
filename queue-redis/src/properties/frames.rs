//! Stored messages.

use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*};
use queue_core::{Headers, Place, Timestamp};
use queue_testing::property::check_property;
use redis::ToRedisArgs;

use super::{any_or_damaged, bytes};
use crate::frame::{self, Content, Dead, Frame, HEAD, PRIORITY_HEAD, Pack, Payload, Shown, wide};

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
    let mut args = payload.to_redis_args();
    assert_eq!(args.len(), 1);
    args.remove(0)
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let here = (headers(), bytes()).prop_map(|(headers, body)| written(&headers, body));
    let apart = any::<([u8; 16], u16)>()
        .prop_map(|(reference, size)| frame::apart(size.into(), &reference).to_vec());
    prop_oneof![4 => here, 1 => apart]
}

/// A frame with a head of `head` bytes, as scripts write it.
fn framed(head: usize) -> impl Strategy<Value = Vec<u8>> {
    let past = option::of((any::<u32>(), any::<u32>(), ".{0,9}"));
    let times = any::<(u32, u32)>();
    (0..253_u8, times, past, content()).prop_map(move |(few, (id, since), past, content)| {
        let mut bytes = vec![if past.is_some() { 255 } else { few }];
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
        check_property(CASES, any_or_damaged(framed(head)), |bytes| {
            let length = bytes.len();
            let Some(frame) = Frame::read(bytes.into(), head) else {
                return;
            };
            let told = frame.failure.as_deref().map_or(0, str::len);
            if let Some(delivery) = frame.delivery(u64::MAX, std::time::Duration::MAX, 1) {
                let size = delivery.body.len() + delivery.headers.size();
                assert!(size + told.min(length) <= 4 * length, "it is made up");
            }
        });
    }
}

/// The list elements that packs of these messages become, two for each pack. The first message has the id 1.
fn packed(messages: &[(Headers, Bytes)]) -> Option<Vec<Vec<u8>>> {
    let payloads: Vec<_> = messages
        .iter()
        .map(|(headers, body)| Payload { headers, body })
        .collect();
    let mut last = 0;
    let elements = |pack: Pack<'_>| {
        let content = pack.to_redis_args().remove(0);
        let mut head = vec![254];
        head.extend(wide(last + 1));
        head.extend(wide(7));
        head.push(content[1]);
        last += u64::from(content[1]);
        [head, content]
    };
    Pack::several(&payloads).map(|packs| packs.flat_map(elements).collect())
}

#[test]
fn messages_come_back_from_packs() {
    let body = bytes().prop_map(Bytes::from);
    check_property(CASES, vec((headers(), body), 4..50), |messages| {
        let elements = packed(&messages).expect("none is long");
        assert_eq!(elements.len(), 2 * messages.len().div_ceil(16));
        let mut frames = Vec::new();
        let mut elements = elements.into_iter().map(Bytes::from);
        while let Some(head) = elements.next() {
            let read = Frame::read_all(head, || elements.next(), HEAD, &mut frames);
            read.expect("is a pack");
        }
        assert_eq!(frames.len(), messages.len());
        for (id, (frame, (headers, body))) in (1..).zip(frames.into_iter().zip(messages)) {
            assert_eq!((frame.id.get(), frame.pushed.as_millis()), (id, 7));
            assert_eq!(frame.content, Content::Here(headers, body));
        }
    });
}

#[test]
fn a_damaged_pack_has_the_number_of_messages_that_it_states() {
    let element = vec(bytes().prop_map(Bytes::from), 4..16).prop_filter_map("long", |bodies| {
        let messages: Vec<_> = bodies
            .into_iter()
            .map(|body| (Headers::new(), body))
            .collect();
        // In one piece, as a split pack is.
        let elements = packed(&messages)?;
        Some([&elements[0][..], &elements[1][2..]].concat())
    });
    check_property(CASES, any_or_damaged(element), |bytes| {
        let says = (bytes.first() == Some(&254)).then(|| bytes.get(HEAD).copied());
        let is_whole = bytes.len() > HEAD + 1;
        let mut frames = Vec::new();
        let read = Frame::read_all(bytes.into(), || None, HEAD, &mut frames);
        if let Some(Some(says)) = says.filter(|_| is_whole) {
            assert_eq!((read, frames.len()), (Some(()), usize::from(says)));
        }
        for frame in frames {
            drop(frame.delivery(1, std::time::Duration::ZERO, 1));
        }
    });
}

#[test]
fn a_dead_letter_is_read_or_is_none() {
    for head in [HEAD, PRIORITY_HEAD] {
        check_property(CASES, any_or_damaged(record(head)), |bytes| {
            let _ = Dead::read(bytes.into(), head).map(Dead::letter);
        });
    }
}

#[test]
fn any_peeked_frame_is_read_or_none() {
    let shown = (any_or_damaged(framed(HEAD)), any_or_damaged(bytes()));
    let times = any::<(u64, u64)>();
    check_property(CASES, (shown, times), |((frame, lease), (now, time))| {
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
    check_property(CASES, (headers(), bytes()), |(headers, body)| {
        let read = frame::payload(written(&headers, body.clone()).into());
        assert_eq!(read, Some((headers, body.into())));
    });
}

#[test]
fn content_is_read_or_is_none() {
    check_property(CASES, any_or_damaged(content()), |bytes| {
        let bytes = Bytes::from(bytes);
        let _ = Content::read(bytes.clone());
        drop(frame::payload(bytes.clone()));
        assert!(frame::id(bytes.clone()).is_none() || bytes.len() == 7);
    });
}
