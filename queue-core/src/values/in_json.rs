//! How values look in JSON, for operators and web services: durations in milliseconds, and bytes as what they
//! are.

use std::time::Duration;

use bytes::Bytes;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Holder, millis_ceil};

pub(crate) fn millis<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(millis_ceil(*duration))
}

/// A time that may be missing, both ways.
pub(crate) mod millis_if_any {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Duration, millis_ceil};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(millis_ceil).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}

/// Writes JSON bytes as that JSON, other text as a string, and other bytes as `{"hex": "00ff"}`.
pub(crate) fn bytes<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    shown(bytes).serialize(serializer)
}

pub(crate) fn bytes_if_any<S: Serializer>(
    bytes: &Option<Bytes>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    bytes.as_ref().map(shown).serialize(serializer)
}

pub(crate) fn holder<S: Serializer>(
    holder: &Option<Holder>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    holder.as_ref().map(Holder::as_str).serialize(serializer)
}

fn shown(bytes: &Bytes) -> Value {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return value;
    }
    match str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Value::from_iter([("hex", hex)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_as_json_text_or_hex() {
        let shown = |bytes: &'static [u8]| shown(&Bytes::from_static(bytes)).to_string();
        assert_eq!(shown(br#"{"order": 7}"#), r#"{"order":7}"#);
        assert_eq!(shown(b"to: nobody"), r#""to: nobody""#);
        assert_eq!(shown(b"\x00\xff"), r#"{"hex":"00ff"}"#);
    }
}
