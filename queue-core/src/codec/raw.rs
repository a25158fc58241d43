use bytes::Bytes;

use super::{Decode, Encode, failed, refusal::Refusal};
use crate::Result;

/// The bytes as they are, for `Bytes`, `Vec<u8>` and `String`.
///
/// ```
/// use queue_core::{Bytes, Decode, Encode, Raw};
///
/// let body = Raw.encode(&Bytes::from_static(b"\x00\xff"))?;
/// assert_eq!(&body[..], b"\x00\xff");
/// let not_text: Result<String, _> = Raw.decode(&body);
/// assert!(not_text.is_err());
/// # Ok::<(), queue_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Raw;

impl Encode<Bytes> for Raw {
    fn encode(&self, value: &Bytes) -> Result<Bytes> {
        Ok(value.clone())
    }
}

impl Decode<Bytes> for Raw {
    fn decode(&self, body: &Bytes) -> Result<Bytes> {
        Ok(body.clone())
    }
}

impl Encode<Vec<u8>> for Raw {
    fn encode(&self, value: &Vec<u8>) -> Result<Bytes> {
        Ok(Bytes::copy_from_slice(value))
    }
}

impl Encode<[u8]> for Raw {
    fn encode(&self, value: &[u8]) -> Result<Bytes> {
        Ok(Bytes::copy_from_slice(value))
    }
}

impl Decode<Vec<u8>> for Raw {
    fn decode(&self, body: &Bytes) -> Result<Vec<u8>> {
        Ok(body.to_vec())
    }
}

impl Encode<String> for Raw {
    fn encode(&self, value: &String) -> Result<Bytes> {
        Ok(Bytes::copy_from_slice(value.as_bytes()))
    }
}

impl Encode<str> for Raw {
    fn encode(&self, value: &str) -> Result<Bytes> {
        Ok(Bytes::copy_from_slice(value.as_bytes()))
    }
}

impl Decode<String> for Raw {
    fn decode(&self, body: &Bytes) -> Result<String> {
        let text = std::str::from_utf8(body).map(str::to_owned);
        text.map_err(|error| failed("Raw", "decode", "String", Refusal::new(error.to_string())))
    }
}
