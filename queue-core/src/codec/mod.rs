//! Codecs: from values to bodies and back.

mod finite;
mod json;
#[cfg(feature = "msgpack")]
mod msgpack;
mod raw;
mod refusal;

use std::fmt::Debug;

use bytes::Bytes;

#[cfg(feature = "msgpack")]
pub use self::msgpack::MessagePack;
use self::refusal::Refusal;
pub use self::{json::Json, raw::Raw};
use crate::{Error, ErrorKind, Result};

/// Writes values as bodies, for [`Typed`](crate::Typed) handles that push them.
///
/// The errors of this crate's codecs name the place and what was expected there, and never the value: an error goes to
/// logs and operators, and into the reason of a dead letter. A codec of your own should do the same.
pub trait Encode<T: ?Sized>: Debug + Send + Sync + 'static {
    /// The body for this value.
    ///
    /// # Errors
    ///
    /// `Codec` if the value has no encoding.
    fn encode(&self, value: &T) -> Result<Bytes>;
}

/// Reads values from bodies, for [`Typed`](crate::Typed) handles that receive them, and for workers. Its errors name no
/// value, as those of [`Encode`].
pub trait Decode<T>: Debug + Send + Sync + 'static {
    /// The value in this body.
    ///
    /// # Errors
    ///
    /// `Codec` if the body is not such a value.
    fn decode(&self, body: &Bytes) -> Result<T>;
}

fn failed(codec: &str, action: &str, type_name: &str, why: Refusal) -> Error {
    let why = why.into_text();
    Error::new(
        ErrorKind::Codec,
        format!("{codec} cannot {action} a {type_name}: {why}"),
    )
}
