//! Bytes that a form or a call of the API sends as hexadecimal digits.

use serde::{Deserialize, Deserializer, de};

use crate::hex::unhex;

/// Bytes that are sent as hexadecimal digits.
#[derive(Debug)]
pub(super) struct Hex(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = unhex(&text);
        bytes
            .map(Self)
            .ok_or_else(|| de::Error::custom("pairs of hexadecimal digits are expected"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::hex;

    #[test]
    fn each_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        let text = serde_json::to_string(&hex(&all)).expect("text");
        let read: Hex = serde_json::from_str(&text).expect("it was written");
        assert_eq!(read.0, all);
        for wrong in ["\"0\"", "\"0g\"", "\"ü0\"", "\"+1\"", "7"] {
            assert!(serde_json::from_str::<Hex>(wrong).is_err(), "{wrong}");
        }
    }
}
