use std::any::type_name;

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use super::{Codec, failed};
use crate::Result;

/// MessagePack, smaller and faster than JSON; structs are written with their field names, so that
/// fields can be added later.
///
/// ```
/// use queue_core::{Codec, MessagePack};
///
/// let body = MessagePack.encode(&vec![1_u8, 2])?;
/// assert_eq!(&body[..], [0x92, 1, 2]);
/// # Ok::<(), queue_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct MessagePack;

impl<T: Serialize + DeserializeOwned> Codec<T> for MessagePack {
    fn encode(&self, value: &T) -> Result<Bytes> {
        rmp_serde::to_vec_named(value)
            .map(Bytes::from)
            .map_err(|error| failed("MessagePack", "encode", type_name::<T>(), error))
    }

    fn decode(&self, body: &Bytes) -> Result<T> {
        rmp_serde::from_slice(body)
            .map_err(|error| failed("MessagePack", "decode", type_name::<T>(), error))
    }
}
