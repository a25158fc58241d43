//! Codecs: from values to bodies and back.

mod finite;
mod json;
#[cfg(feature = "msgpack")]
mod msgpack;
mod raw;

use std::fmt::Debug;

use bytes::Bytes;

#[cfg(feature = "msgpack")]
pub use self::msgpack::MessagePack;
pub use self::{json::Json, raw::Raw};
use crate::{Error, ErrorKind, Result};

/// How a [`Typed`](crate::Typed) handle writes and reads its values.
pub trait Codec<T>: Debug + Send + Sync + 'static {
    /// The body for this value.
    ///
    /// # Errors
    ///
    /// `Codec` if the value has no encoding.
    fn encode(&self, value: &T) -> Result<Bytes>;

    /// The value in this body.
    ///
    /// # Errors
    ///
    /// `Codec` if the body is not such a value.
    fn decode(&self, body: &Bytes) -> Result<T>;
}

fn failed(
    codec: &str,
    action: &str,
    type_name: &str,
    source: impl std::error::Error + Send + Sync + 'static,
) -> Error {
    Error::new(
        ErrorKind::Codec,
        format!("{codec} cannot {action} a {type_name}: {source}"),
    )
    .with_source(source)
}
