use std::{any::type_name, cell::Cell, io};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::ser::{Formatter, Serializer};

use super::{
    Decode, Encode, failed,
    finite::{Finite, Unfit},
    refusal::Refusal,
};
use crate::Result;

/// Room for a small value: growing bit by bit costs more than writing it.
const SMALL: usize = 128;

/// JSON, the default: readable with any tool.
///
/// A float that is infinite or NaN is a `Codec` error: JSON has no number for it, and `null` in its
/// place would be another value, or none that consumers can decode.
///
/// Of a finite float, the last binary digit may change on its way, as everywhere with `serde_json`. With the feature
/// `float_roundtrip` it is read back exactly. The feature is `serde_json`'s own, and holds for the whole program.
///
/// ```
/// use queue_core::{Decode, Encode, Json};
///
/// let body = Json.encode(&vec![1, 2])?;
/// assert_eq!(&body[..], b"[1,2]");
/// let back: Vec<i32> = Json.decode(&body)?;
/// assert_eq!(back, [1, 2]);
/// assert!(Json.encode(&f64::NAN).is_err());
/// # Ok::<(), queue_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Json;

impl<T: Serialize + ?Sized> Encode<T> for Json {
    fn encode(&self, value: &T) -> Result<Bytes> {
        Self::write(value)
    }
}

impl<T: DeserializeOwned> Decode<T> for Json {
    fn decode(&self, body: &Bytes) -> Result<T> {
        Self::read(body)
    }
}

impl Json {
    /// [`encode`](Encode::encode), for values that are only written.
    ///
    /// # Errors
    ///
    /// `Codec` if the value has no JSON.
    pub fn write<T: Serialize + ?Sized>(value: &T) -> Result<Bytes> {
        let mut body = Vec::with_capacity(SMALL);
        let has_null = Cell::new(false);
        let mut json = Serializer::with_formatter(&mut body, NullSpotter(&has_null));
        let written = value.serialize(&mut json);
        let refused = |why| failed("JSON", "encode", type_name::<T>(), why);
        written.map_err(|error| refused(Refusal::of_json(&error)))?;
        // Only a `null` can stand for such a float. So most values are serialized once.
        if has_null.get() {
            let passed = value.serialize(Finite);
            passed.map_err(|unfit| match unfit {
                Unfit::NoNumber(_) => refused(Refusal::new(unfit.to_string())),
                Unfit::Said(message) => refused(Refusal::of_serde(&message)),
            })?;
        }
        Ok(body.into())
    }

    /// [`decode`](Decode::decode), for values that are only read.
    ///
    /// # Errors
    ///
    /// `Codec` if the bytes are not such a value.
    pub fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T> {
        serde_json::from_slice(body).map_err(|error| {
            let why = Refusal::of_json(&error);
            failed("JSON", "decode", type_name::<T>(), why)
        })
    }
}

/// Writes JSON without blanks, and notes whether there is a `null` in it.
struct NullSpotter<'a>(&'a Cell<bool>);

impl Formatter for NullSpotter<'_> {
    fn write_null<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.set(true);
        writer.write_all(b"null")
    }
}
