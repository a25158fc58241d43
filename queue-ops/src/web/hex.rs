//! Bytes as hexadecimal digits.

use serde::{Deserialize, Deserializer, de};

/// Bytes that are sent as hexadecimal digits.
#[derive(Debug)]
pub(super) struct Hex(pub(super) Vec<u8>);

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |byte: &u8| {
            char::from(*byte)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        };
        let digits: Option<Vec<u8>> = text.as_bytes().iter().map(digit).collect();
        match digits {
            Some(digits) if digits.len() % 2 == 0 => Ok(Self(
                digits
                    .chunks(2)
                    .map(|pair| pair[0] << 4 | pair[1])
                    .collect(),
            )),
            _ => Err(de::Error::custom(
                "pairs of hexadecimal digits are expected",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
