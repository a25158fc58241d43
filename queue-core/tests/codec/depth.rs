//! Bodies that are nested deeply: an error, and no overflow of the stack.

use std::collections::BTreeMap;

use queue_core::{Bytes, Decode, ErrorKind, Json};
use serde::{Deserialize, Serialize};

/// As much nesting as JSON may have.
const MOST: usize = 127;

#[derive(Debug, Serialize, Deserialize)]
struct Lists(Vec<Self>);

#[derive(Debug, Serialize, Deserialize)]
struct Maps(BTreeMap<String, Self>);

#[derive(Debug, Serialize, Deserialize)]
struct Linked {
    next: Option<Box<Self>>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Chain {
    End,
    More(Box<Self>),
}

/// Its unknown fields are skipped.
#[derive(Debug, Serialize, Deserialize)]
struct Skips {}

/// A body of so many openings, an innermost value, and as many closings.
fn nested(opening: &[u8], depth: usize, inner: &[u8], closing: &[u8]) -> Bytes {
    [opening.repeat(depth), inner.to_vec(), closing.repeat(depth)]
        .concat()
        .into()
}

fn assert_bounded<T>(codec: &impl Decode<T>, body: impl Fn(usize) -> Bytes) {
    let name = std::any::type_name::<T>();
    assert!(codec.decode(&body(MOST - 1)).is_ok(), "{name}");
    for depth in [MOST + 1, 1_000, 100_000] {
        let Err(error) = codec.decode(&body(depth)) else {
            panic!("{name} of {depth}")
        };
        assert_eq!(error.kind(), ErrorKind::Codec, "{error}");
    }
}

#[test]
fn deep_json_is_an_error() {
    assert_bounded::<Lists>(&Json, |depth| nested(b"[", depth, b"[]", b"]"));
    assert_bounded::<Maps>(&Json, |depth| nested(b"{\"k\":", depth, b"{}", b"}"));
    assert_bounded::<Linked>(&Json, |depth| {
        nested(b"{\"next\":", depth, b"{\"next\":null}", b"}")
    });
    assert_bounded::<Chain>(&Json, |depth| {
        nested(b"{\"More\":", depth, b"\"End\"", b"}")
    });
    // A skipped value is not nested for the decoder.
    let skipped: Result<Skips, _> = Json.decode(&nested(b"{\"k\":", 100_000, b"1", b"}"));
    skipped.unwrap();
}

#[cfg(feature = "msgpack")]
mod messagepack {
    use proptest::{collection::vec, prelude::*};
    use queue_core::{Encode, MessagePack};
    use queue_testing::property::check_property;
    use serde_json::Value;

    use super::*;

    #[test]
    fn deep_messagepack_is_an_error() {
        let openings: [&[u8]; 3] = [b"\x91", b"\xdc\0\x01", b"\xdd\0\0\0\x01"];
        for opening in openings {
            assert_bounded::<Lists>(&MessagePack, |depth| nested(opening, depth, b"\x90", b""));
        }
        let openings: [&[u8]; 3] = [b"\x81\xa1k", b"\xde\0\x01\xd9\x01k", b"\xdf\0\0\0\x01\xa1k"];
        for opening in openings {
            assert_bounded::<Maps>(&MessagePack, |depth| nested(opening, depth, b"\x80", b""));
            assert_bounded::<Skips>(&MessagePack, |depth| nested(opening, depth, b"\x01", b""));
        }
        assert_bounded::<Linked>(&MessagePack, |depth| {
            nested(b"\x81\xa4next", depth, b"\x81\xa4next\xc0", b"")
        });
        assert_bounded::<Chain>(&MessagePack, |depth| {
            nested(b"\x81\xa4More", depth, b"\xa3End", b"")
        });
    }

    #[test]
    fn values_beside_deep_ones_do_not_count() {
        // Many shallow values, of each kind and length.
        let values: Vec<(Vec<i64>, String, f64)> = (0..500)
            .map(|number| {
                let text = "x".repeat(number * 300);
                (vec![1 << (number % 63), -1], text, 0.5)
            })
            .collect();
        let body = MessagePack.encode(&values).unwrap();
        let back: Vec<(Vec<i64>, String, f64)> = MessagePack.decode(&body).unwrap();
        assert_eq!(back, values);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-z]{0,300}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 200, 20, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..20).prop_map(Value::from),
                vec(("[a-z]{0,40}", inner), 0..20)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn any_value_and_any_bytes_decode_as_without_the_limit() {
        check_property(300, values(), |value| {
            let body = MessagePack.encode(&value).unwrap();
            let back: Value = MessagePack.decode(&body).unwrap();
            assert_eq!(back, value);
            let cut = body.slice(..body.len() - 1);
            assert!(Decode::<Value>::decode(&MessagePack, &cut).is_err());
        });
        check_property(2_000, vec(any::<u8>(), 128..400), |body| {
            let bare: Option<Value> = rmp_serde::from_slice(&body).ok();
            let ours: Option<Value> = MessagePack.decode(&body.into()).ok();
            assert_eq!(bare, ours);
        });
    }
}
