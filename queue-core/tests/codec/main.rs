//! Codecs: a value survives the round trip, and a body of another kind is a codec error.

mod depth;
mod floats;
mod secrets;

use queue_core::{Bytes, Decode, Encode, ErrorKind, Json, Raw};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    number: u64,
    note: Option<String>,
}

fn order() -> Order {
    Order {
        number: u64::MAX,
        note: Some("ü\n".into()),
    }
}

fn comes_back(codec: &(impl Encode<Order> + Decode<Order>)) {
    let body = codec.encode(&order()).unwrap();
    assert_eq!(codec.decode(&body).unwrap(), order());
    for poison in [&b""[..], b"{", b"\xff\xfe", b"[1,2,3]"] {
        let error = codec.decode(&Bytes::from_static(poison)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Codec);
        assert!(error.to_string().contains("Order"), "{error}");
        assert_eq!(queue_testing::chain::texts(&error).len(), 1, "{error}");
    }
}

#[test]
fn json_brings_values_back() {
    comes_back(&Json);
}

#[test]
#[cfg(feature = "float_roundtrip")]
fn json_brings_floats_back_to_the_last_digit() {
    for float in [
        -922_970_222.953_403_6_f64,
        0.1 + 0.2,
        f64::MIN_POSITIVE,
        f64::MAX,
    ] {
        let body = Json.encode(&float).unwrap();
        let back: f64 = Json.decode(&body).unwrap();
        assert_eq!(back.to_bits(), float.to_bits(), "{float:e}");
    }
}

#[cfg(feature = "msgpack")]
#[test]
fn messagepack_brings_values_back() {
    comes_back(&queue_core::MessagePack);
}

#[test]
fn a_value_without_an_encoding_is_a_codec_error() {
    use std::collections::BTreeMap;
    let keys_that_are_not_text = BTreeMap::from([((1, 2), 3)]);
    let error = Json.encode(&keys_that_are_not_text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Codec);
}

/// A value of each shape that serde knows, with floats in all of them.
#[derive(Debug, Serialize, Deserialize)]
enum Shape {
    Newtype(f64),
    Tuple(u8, f64),
    Fields { float: f64 },
    Wrapped(Wrapped),
    Pair(Pair),
    Nested(Vec<Option<f64>>),
    Map(std::collections::BTreeMap<String, (u8, f64)>),
    Single(f32),
}

#[derive(Debug, Serialize, Deserialize)]
struct Wrapped(f64);

#[derive(Debug, Serialize, Deserialize)]
struct Pair(u8, f64);

fn shapes(float: f64) -> Vec<Shape> {
    vec![
        Shape::Newtype(float),
        Shape::Tuple(1, float),
        Shape::Fields { float },
        Shape::Wrapped(Wrapped(float)),
        Shape::Pair(Pair(1, float)),
        Shape::Nested(vec![None, Some(float)]),
        Shape::Map([("key".to_owned(), (1, float))].into()),
        Shape::Single(float as f32),
    ]
}

#[test]
fn a_float_without_a_number_in_json_is_refused_wherever_it_is() {
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for shape in shapes(float) {
            let error = Json.encode(&shape).expect_err("it has no number");
            assert_eq!(error.kind(), ErrorKind::Codec);
            let said = error.to_string();
            for part in ["Shape", &format!("that is {float}"), "Option"] {
                assert!(said.contains(part), "{shape:?}: {said}");
            }
        }
    }
    for shape in shapes(f64::MAX) {
        if !matches!(shape, Shape::Single(_)) {
            Json.encode(&shape).expect("it is a number");
        }
    }
    Json.encode(&Shape::Single(1.5)).expect("it is a number");
}

#[test]
fn null_values_other_than_floats_are_encoded() {
    let values = (
        None::<u8>,
        (),
        Some("null".to_owned()),
        Some(1.5),
        'c',
        [1_i128, -1],
    );
    let body = Json.encode(&vec![values]).expect("there is no such float");
    assert_eq!(&body[..], br#"[[null,null,"null",1.5,"c",[1,-1]]]"#);
}

#[test]
fn raw_leaves_bytes_as_they_are() {
    let bytes: Vec<u8> = (0..=255).collect();
    let body = Raw.encode(&bytes).unwrap();
    assert_eq!(body, bytes);
    assert_eq!(Decode::<Vec<u8>>::decode(&Raw, &body).unwrap(), bytes);
    assert_eq!(Decode::<Bytes>::decode(&Raw, &body).unwrap(), bytes);
    let error = Decode::<String>::decode(&Raw, &body).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Codec);
}
