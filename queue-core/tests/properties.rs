//! Any text and any bytes decode to a value or a clear error, and encoded values decode to the same value.

use std::{fmt::Debug, time::Duration};

use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
};
use queue_core::*;
use queue_testing::{chain, property::check_property};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

const CASES: u32 = 2_000;
/// The longest error text.
const LONGEST: usize = 1_200;

#[track_caller]
fn assert_clear(error: &Error) {
    let text = &chain::texts(error)[0];
    assert!(!text.contains(char::is_control), "{text:?}");
    assert!(text.len() <= LONGEST, "{} bytes", text.len());
}

fn text() -> impl Strategy<Value = String> {
    let long = any::<char>().prop_map(|c| c.to_string().repeat(2_000));
    prop_oneof![4 => any::<String>(), 2 => "[A-Za-z0-9._:-]{0,140}", 1 => long]
}

#[test]
fn a_name_is_taken_as_it_is_or_refused() {
    check_property(CASES, text(), |text| match QueueName::new(&text) {
        Ok(name) => {
            assert_eq!(name.as_str(), text);
            let json = serde_json::to_string(&name).expect("a name is text");
            assert_eq!(serde_json::from_str::<QueueName>(&json).ok(), Some(name));
        }
        Err(error) => {
            assert_clear(&error);
            let json = serde_json::to_string(&text).expect("text");
            let read = serde_json::from_str::<QueueName>(&json);
            assert!(read.is_err(), "no way round the check");
        }
    });
}

#[test]
fn a_holder_is_taken_as_it_is_or_refused() {
    check_property(CASES, text(), |text| match Holder::new(&*text) {
        Ok(holder) => assert_eq!(holder.as_str(), text),
        Err(error) => assert_clear(&error),
    });
}

/// A trace parent, and one with signs replaced.
fn traced() -> impl Strategy<Value = String> {
    let sound = (any::<(u128, u64, bool)>()).prop_map(|(trace, span, sampled)| {
        TraceParent::new(trace.max(1), span.max(1), sampled)
            .expect("neither is zero")
            .to_string()
    });
    let slips = vec((any::<prop::sample::Index>(), any::<char>()), 0..3);
    let damaged = (sound, slips).prop_map(|(text, slips)| {
        let mut signs: Vec<char> = text.chars().collect();
        for (at, sign) in slips {
            let at = at.index(signs.len());
            signs[at] = sign;
        }
        signs.into_iter().collect()
    });
    prop_oneof![3 => damaged, 1 => text()]
}

#[test]
fn a_trace_parent_is_read_as_it_was_written_or_is_none() {
    check_property(CASES, traced(), |text| {
        if let Some(parent) = TraceParent::parse(&text) {
            let written = parent.to_string();
            assert_eq!(TraceParent::parse(&written), Some(parent));
            assert_eq!(written[2..], text[2..55]);
        }
        let headers = Headers::new().with(TraceParent::HEADER, text.clone());
        assert_eq!(headers.trace_parent(), TraceParent::parse(&text));
    });
}

#[test]
fn headers_are_what_was_put_in() {
    check_property(CASES, btree_map(text(), text(), 0..6), |entries| {
        let headers: Headers = entries.clone().into_iter().collect();
        let read: Vec<_> = headers.iter().collect();
        let put: Vec<_> = entries.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(read, put);
    });
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Job {
    Mail { to: String, copies: u8 },
    Bill(i64, Option<f64>),
    Idle,
    Many(Vec<Self>),
}

fn job() -> impl Strategy<Value = Job> {
    let leaf = prop_oneof![
        (text(), any::<u8>()).prop_map(|(to, copies)| Job::Mail { to, copies }),
        (any::<i64>(), option::of(-1e9..1e9)).prop_map(|(id, sum)| Job::Bill(id, sum)),
        Just(Job::Idle),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| vec(inner, 0..4).prop_map(Job::Many))
}

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let nested = (
        0..100_000_usize,
        prop::sample::select(b"[{\"\x91\xdf\xff".to_vec()),
    );
    prop_oneof![
        3 => vec(any::<u8>(), 0..64),
        2 => "[\\[\\]{}\",:a-zA-Z0-9 ]{0,60}".prop_map(String::into_bytes),
        1 => nested.prop_map(|(depth, byte)| vec![byte; depth]),
    ]
}

fn comes_back(codec: &(impl Encode<Job> + Decode<Job>)) {
    let damage = option::of((any::<prop::sample::Index>(), any::<u8>()));
    check_property(CASES, (job(), damage), |(job, damage)| {
        let body = codec.encode(&job).expect("a plain value");
        assert_eq!(codec.decode(&body).expect("its own"), job);
        if let Some((at, byte)) = damage {
            let mut body = body.to_vec();
            let at = at.index(body.len());
            body[at] = byte;
            if let Err(error) = codec.decode(&body.into()) {
                assert_clear(&error);
                assert_eq!(error.kind(), ErrorKind::Codec);
            }
        }
    });
    check_property(CASES, bodies(), |body| {
        if let Err(error) = codec.decode(&body.into()) {
            assert_clear(&error);
            assert_eq!(error.kind(), ErrorKind::Codec);
        }
    });
}

#[test]
fn json_decodes_what_it_encoded_or_says_why_not() {
    comes_back(&Json);
}

#[cfg(feature = "msgpack")]
#[test]
fn messagepack_decodes_what_it_encoded_or_says_why_not() {
    comes_back(&MessagePack);
}

fn reads<T: DeserializeOwned + Serialize + PartialEq + Debug>(bytes: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<T>(bytes) {
        let json = serde_json::to_vec(&value).expect("it was read");
        assert_eq!(serde_json::from_slice::<T>(&json).ok(), Some(value));
    }
}

/// The library's own types that programs store or send.
#[test]
fn our_types_are_encoded_as_they_were_decoded() {
    let number = prop_oneof![any::<i64>().prop_map(|n| n.to_string()), "-?[0-9.e]{1,25}"];
    let receipt = (number.clone(), number)
        .prop_map(|(id, token)| format!("{{\"id\":{id},\"token\":{token}}}").into_bytes());
    let word =
        "\"(Reliable|reliable|delay|Buried|Retried|[a-z]{0,9})\"".prop_map(String::into_bytes);
    check_property(CASES, prop_oneof![bodies(), receipt, word], |bytes| {
        reads::<Receipt>(&bytes);
        reads::<MessageId>(&bytes);
        reads::<QueueKind>(&bytes);
        reads::<DeathReason>(&bytes);
        reads::<Counters>(&bytes);
        reads::<Timestamp>(&bytes);
    });
}

/// Numbers at their ends, where sums overflow.
fn edge() -> impl Strategy<Value = u64> {
    let edges = vec![
        0,
        1,
        u64::MAX,
        u64::MAX - 1,
        1 << 53,
        (1 << 53) - 1,
        i64::MAX as u64,
    ];
    prop_oneof![prop::sample::select(edges), any::<u64>(), 0..100_000_u64]
}

#[test]
fn any_configuration_is_taken_or_refused() {
    let values = (edge(), edge(), edge(), edge(), any::<(u32, u32)>());
    check_property(
        CASES,
        values,
        |(seconds, nanos, capacity, cap, (attempts, body))| {
            let time = Duration::new(seconds, (nanos % 1_000_000_000) as u32);
            let capacity = capacity as usize;
            let configs = [
                QueueConfig::Reliable(
                    ReliableConfig::default()
                        .with_max_attempts(attempts)
                        .with_dead_letter_cap(cap)
                        .with_max_body(body as usize),
                ),
                QueueConfig::Priority(PriorityConfig::default().with_ageing(time)),
                QueueConfig::Bounded(BoundedConfig::new(capacity)),
                QueueConfig::Rotating(RotatingConfig::default().with_pace(time)),
            ];
            for config in configs {
                if let Err(error) = config.check() {
                    assert_clear(&error);
                    assert_eq!(error.kind(), ErrorKind::Invalid);
                }
            }
            let checks = [
                limits::check_page(capacity),
                limits::check_max(capacity),
                limits::check_batch(capacity),
                limits::lease_millis(time).map(drop),
                limits::claim_millis(time).map(drop),
                limits::keep_millis(time).map(drop),
                limits::delay_millis(time).map(drop),
            ];
            for error in checks.into_iter().filter_map(Result::err) {
                assert_clear(&error);
            }
            let (one, other) = (
                Timestamp::from_millis(seconds),
                Timestamp::from_millis(nanos),
            );
            assert!(one.since(other).is_zero() || one > other);
        },
    );
}

#[test]
fn a_push_with_any_terms_is_taken_or_refused() {
    let terms = (text(), edge(), edge(), edge(), any::<bool>());
    check_property(CASES, terms, |(key, window, due, live, absolute)| {
        let millis = Duration::from_millis;
        let due = match absolute {
            true => Due::At(Timestamp::from_millis(due)),
            false => Due::After(millis(due)),
        };
        let push = Push::new("body")
            .with_dedup(key, millis(window))
            .with_due(due)
            .with_time_to_live(TimeToLive::bury_after(millis(live)));
        if let Err(error) =
            Push::check_all(std::slice::from_ref(&push), QueueKind::Reliable, 1 << 20)
        {
            assert_clear(&error);
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
    });
}
