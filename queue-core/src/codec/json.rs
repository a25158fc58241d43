use std::any::type_name;

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use super::{Codec, failed};
use crate::Result;

/// JSON, the default: readable with any tool.
///
/// ```
/// use queue_core::{Codec, Json};
///
/// let body = Json.encode(&vec![1, 2])?;
/// assert_eq!(&body[..], b"[1,2]");
/// let back: Vec<i32> = Json.decode(&body)?;
/// assert_eq!(back, [1, 2]);
/// # Ok::<(), queue_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Json;

impl<T: Serialize + DeserializeOwned> Codec<T> for Json {
    fn encode(&self, value: &T) -> Result<Bytes> {
        serde_json::to_vec(value)
            .map(Bytes::from)
            .map_err(|error| failed("JSON", "encode", type_name::<T>(), error))
    }

    fn decode(&self, body: &Bytes) -> Result<T> {
        serde_json::from_slice(body)
            .map_err(|error| failed("JSON", "decode", type_name::<T>(), error))
    }
}
