//! Codecs: a value survives the round trip, and a body of another kind is a codec error.

use queue_core::{Bytes, Codec, ErrorKind, Json, Raw};
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

fn comes_back(codec: &impl Codec<Order>) {
    let body = codec.encode(&order()).unwrap();
    assert_eq!(codec.decode(&body).unwrap(), order());
    for poison in [&b""[..], b"{", b"\xff\xfe", b"[1,2,3]"] {
        let error = codec.decode(&Bytes::from_static(poison)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Codec);
        assert!(error.to_string().contains("Order"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[test]
fn json_brings_values_back() {
    comes_back(&Json);
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

#[test]
fn raw_leaves_bytes_as_they_are() {
    let bytes: Vec<u8> = (0..=255).collect();
    let body = Raw.encode(&bytes).unwrap();
    assert_eq!(body, bytes);
    assert_eq!(Codec::<Vec<u8>>::decode(&Raw, &body).unwrap(), bytes);
    assert_eq!(Codec::<Bytes>::decode(&Raw, &body).unwrap(), bytes);
    let error = Codec::<String>::decode(&Raw, &body).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Codec);
}
