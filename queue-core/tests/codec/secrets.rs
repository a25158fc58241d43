//! The errors of codecs name the place and what was expected, and nothing of the value.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use queue_core::{Bytes, Decode, Encode, Error, Json, Raw, with_sources};
use queue_testing::{chain, property::check_property};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned, Unexpected},
    ser,
};
use serde_json::{Value, json};

/// Beginnings of values that nobody may see: a text, and numbers.
const SECRETS: [&str; 4] = ["4111", "s3cr", "-987", "777."];

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    number: u64,
    #[serde(default)]
    kind: Option<Kind>,
    #[serde(default)]
    check: Option<Checked>,
    #[serde(default)]
    either: Option<Either>,
    #[serde(default)]
    small: u8,
    #[serde(default)]
    letter: Option<char>,
    #[serde(default)]
    pair: Option<(u8, u8)>,
    #[serde(default)]
    by_number: BTreeMap<u8, String>,
    #[serde(default)]
    flag: Option<bool>,
    #[serde(default)]
    text: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Kind {
    Debit,
    Credit(u8),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(u8),
    Flag(bool),
}

/// Quotes the value in errors of its own.
#[derive(Debug)]
struct Checked;

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = String::deserialize(deserializer)?;
        Err(match value.len() % 3 {
            0 => de::Error::custom(format!("no such card: {value}")),
            1 => de::Error::invalid_value(Unexpected::Str(&value), &"a card"),
            _ => de::Error::invalid_type(Unexpected::Other(&value), &"a card"),
        })
    }
}

impl Serialize for Checked {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(ser::Error::custom("no such card: s3cret"))
    }
}

fn assert_tells_nothing(error: &Error) -> String {
    chain::texts(error);
    for text in [
        error.to_string(),
        format!("{error:#}"),
        format!("{error:?}"),
        with_sources(error),
        format!("{:?}", std::error::Error::source(error)),
    ] {
        for secret in SECRETS {
            assert!(!text.contains(secret), "it tells the value: {text}");
        }
    }
    error.to_string()
}

fn error_of<T: DeserializeOwned>(codec: &impl Decode<T>, body: &Bytes) -> String {
    match codec.decode(body) {
        Err(error) => assert_tells_nothing(&error),
        Ok(_) => panic!("{body:?} decodes"),
    }
}

/// A part of a card, and what its error says.
fn wrong_parts() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        (
            "number",
            json!("4111 s3cret \" ` , expected 4111"),
            "invalid type: string, expected u64",
        ),
        (
            "number",
            json!(-9876),
            "invalid value: integer, expected u64",
        ),
        (
            "number",
            json!(777.5),
            "invalid type: floating point, expected u64",
        ),
        ("number", json!(true), "invalid type: boolean, expected u64"),
        (
            "number",
            json!(["4111"]),
            "invalid type: sequence, expected u64",
        ),
        (
            "number",
            json!({"4111": 1}),
            "invalid type: map, expected u64",
        ),
        ("small", json!(4111), "invalid value: integer, expected u8"),
        (
            "letter",
            json!("s3cret"),
            "invalid value: string, expected a character",
        ),
        (
            "pair",
            json!([1, 4111]),
            "invalid value: integer, expected u8",
        ),
        (
            "kind",
            json!("s3cret`, expected `4111`"),
            "unknown variant, expected `Debit` or `Credit`",
        ),
        (
            "kind",
            json!({"Credit": "s3cret"}),
            "invalid type: string, expected u8",
        ),
        (
            "either",
            json!("s3cret"),
            "data did not match any variant of untagged enum Either",
        ),
        (
            "check",
            json!("s3cret 41"),
            "its type's own check refuses it",
        ),
        (
            "check",
            json!("s3cret 411"),
            "invalid value: string, expected a card",
        ),
        (
            "check",
            json!("s3cret 4111"),
            "its type's own check refuses it",
        ),
        (
            "s3cret`, expected 4111",
            json!(1),
            "unknown field, expected one of `number`",
        ),
        (
            "flag",
            json!("s3cret"),
            "invalid type: string, expected a boolean",
        ),
        (
            "text",
            json!(-9876),
            "invalid type: integer, expected a string",
        ),
    ]
}

#[test]
fn json_errors_name_the_place_and_what_was_expected() {
    for (field, value, expected) in wrong_parts() {
        let body = Json.encode(&json!({"number": 1, field: value})).unwrap();
        let said = error_of::<Card>(&Json, &body);
        assert!(said.contains(expected), "{field}: {value}: {said}");
        assert!(
            said.contains("Card") && said.contains("line 1 column "),
            "{said}"
        );
    }
    for (body, expected) in [
        (
            &br#"{"number":"4111"#[..],
            "EOF while parsing a string at line 1 column 15",
        ),
        (
            br#"{"number":4111}}"#,
            "trailing characters at line 1 column 16",
        ),
        (br#"{"text":"s3cret"}"#, "missing field `number`"),
        (
            br#"{"number":4111,"number":4111}"#,
            "duplicate field `number`",
        ),
        (br#"{"number":1,"by_number":{"s3cret":""}}"#, "expected"),
        (
            br#"{"number":1,"pair":[1]}"#,
            "invalid length 1, expected a tuple of size 2",
        ),
        (
            b"{\"number\":1,\"text\":\"s3cret\xff\"}",
            "invalid unicode code point",
        ),
    ] {
        let said = error_of::<Card>(&Json, &Bytes::copy_from_slice(body));
        assert!(said.contains(expected), "{said}");
    }
    let error = Json.encode(&Checked).unwrap_err();
    let said = assert_tells_nothing(&error);
    assert!(said.contains("its type's own check refuses it"), "{said}");
    let error = Json.encode(&(
        None::<u8>,
        BTreeMap::from([(f64::NAN.to_string(), Checked)]),
    ));
    assert_tells_nothing(&error.unwrap_err());
}

#[test]
fn raw_errors_name_the_place() {
    let body = Bytes::from_static(b"s3cret \xff 4111");
    let said = error_of::<String>(&Raw, &body);
    assert!(said.contains("from index 7"), "{said}");
}

#[cfg(feature = "msgpack")]
#[test]
fn messagepack_errors_name_the_place_and_what_was_expected() {
    use queue_core::MessagePack;

    for (field, value, expected) in wrong_parts() {
        let body = MessagePack
            .encode(&json!({"number": 1, field: value}))
            .unwrap();
        let said = error_of::<Card>(&MessagePack, &body);
        // A variant that is no text is another error there.
        let is_fixed = said.contains("a value of another type") || said.contains("Length");
        assert!(
            said.contains(expected) || is_fixed,
            "{field}: {value}: {said}"
        );
        assert!(
            said.contains("Card") && said.contains(" at byte "),
            "{said}"
        );
    }
    for (body, expected) in [
        (&b"\x81\xa6number"[..], "IO error while reading marker"),
        (b"\x81\xa6number\xd9\x09s3c", "at byte 9"),
        (b"\x92\x01", "at byte"),
        (b"\x81\xa4text\xa6s3cret", "missing field `number`"),
        (
            b"\x81\xa6number\xa84111 s3c",
            "a value of another type, FixStr at byte 9",
        ),
        (b"\x82\xa6number\x01\xa4text\xa7s3cret\xff", "at byte 22"),
    ] {
        let said = error_of::<Card>(&MessagePack, &Bytes::copy_from_slice(body));
        assert!(said.contains(expected), "{body:?}: {said}");
    }
    // The number is a part of its marker.
    let said = error_of::<Kind>(&MessagePack, &Bytes::from_static(b"\x2a"));
    assert!(!said.contains("42"), "{said}");
    let error = MessagePack.encode(&Checked).unwrap_err();
    assert_tells_nothing(&error);
}

/// Values whose texts, numbers and names are secrets.
fn secret_values() -> impl Strategy<Value = Value> {
    let secret = || "(4111|s3cr)[a-z0-9`\"', :\\\\]{0,12}";
    let leaf = prop_oneof![
        secret().prop_map(Value::from),
        Just(json!(4_111_999)),
        Just(json!(-98_765)),
        Just(json!(777.5)),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
    ];
    let name = prop_oneof![
        prop::sample::select(vec![
            "number",
            "kind",
            "check",
            "either",
            "small",
            "letter",
            "pair",
            "by_number",
            "flag",
            "text",
            "Credit",
        ])
        .prop_map(str::to_owned),
        secret(),
    ];
    leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name.clone(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

#[test]
fn no_error_tells_anything_of_any_value() {
    fn try_all(codec: &impl AllCodecs, body: &Bytes) -> usize {
        [
            codec.error::<Card>(body),
            codec.error::<Kind>(body),
            codec.error::<Either>(body),
            codec.error::<Checked>(body),
            codec.error::<u8>(body),
            codec.error::<(u8, String)>(body),
            codec.error::<Vec<Card>>(body),
            codec.error::<BTreeMap<String, u8>>(body),
            codec.error::<Option<()>>(body),
        ]
        .into_iter()
        .flatten()
        .filter(|error| !assert_tells_nothing(error).is_empty())
        .count()
    }
    check_property(3_000, secret_values(), |value| {
        let body = Json.encode(&value).unwrap();
        assert!(try_all(&Json, &body) > 3, "{value}");
        #[cfg(feature = "msgpack")]
        {
            let body = queue_core::MessagePack.encode(&value).unwrap();
            assert!(try_all(&queue_core::MessagePack, &body) > 3, "{value}");
        }
    });
}

/// A codec of any type.
trait AllCodecs {
    fn error<T: Serialize + DeserializeOwned>(&self, body: &Bytes) -> Option<Error>;
}

impl AllCodecs for Json {
    fn error<T: Serialize + DeserializeOwned>(&self, body: &Bytes) -> Option<Error> {
        Decode::<T>::decode(self, body).err()
    }
}

#[cfg(feature = "msgpack")]
impl AllCodecs for queue_core::MessagePack {
    fn error<T: Serialize + DeserializeOwned>(&self, body: &Bytes) -> Option<Error> {
        Decode::<T>::decode(self, body).err()
    }
}
