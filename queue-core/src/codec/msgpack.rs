use std::{any::type_name, io::Cursor};

use bytes::Bytes;
use rmp_serde::{Deserializer, decode, encode};
use serde::{Serialize, de::DeserializeOwned};

use super::{Decode, Encode, failed, refusal::Refusal};
use crate::Result;

/// Arrays and maps within each other, as many as JSON may have. A decoder calls itself for each, and a body must not use
/// up the stack.
const MAX_DEPTH: usize = 127;

/// MessagePack, smaller and faster than JSON; structs are written with their field names, so that
/// fields can be added later.
///
/// A body of more than 127 arrays and maps within each other is a `Codec` error, as in JSON.
///
/// ```
/// use queue_core::{Encode, MessagePack};
///
/// let body = MessagePack.encode(&vec![1_u8, 2])?;
/// assert_eq!(&body[..], [0x92, 1, 2]);
/// # Ok::<(), queue_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct MessagePack;

impl<T: Serialize + ?Sized> Encode<T> for MessagePack {
    fn encode(&self, value: &T) -> Result<Bytes> {
        rmp_serde::to_vec_named(value)
            .map(Bytes::from)
            .map_err(|error| {
                let why = match &error {
                    encode::Error::Syntax(message) => Refusal::of_serde(message),
                    fixed => Refusal::new(fixed.to_string()),
                };
                failed("MessagePack", "encode", type_name::<T>(), why)
            })
    }
}

impl<T: DeserializeOwned> Decode<T> for MessagePack {
    fn decode(&self, body: &Bytes) -> Result<T> {
        let failed = |why| failed("MessagePack", "decode", type_name::<T>(), why);
        if is_too_deep(body) {
            let why = format!("more than {MAX_DEPTH} arrays and maps within each other");
            return Err(failed(Refusal::new(why)));
        }
        rmp_serde::from_slice(body).map_err(|error| {
            let why = match &error {
                decode::Error::Syntax(message) | decode::Error::Uncategorized(message) => {
                    Refusal::of_serde(message).to_string()
                }
                // Small numbers and lengths are a part of their marker.
                decode::Error::TypeMismatch(marker) => {
                    let marker = format!("{marker:?}");
                    let kind = marker.split('(').next().unwrap_or_default();
                    format!("a value of another type, {kind}")
                }
                fixed => fixed.to_string(),
            };
            failed(Refusal::new(format!("{why} at byte {}", place::<T>(body))))
        })
    }
}

/// The number of bytes before the error of a body that does not decode.
fn place<T: DeserializeOwned>(body: &Bytes) -> u64 {
    let mut again = Deserializer::new(Cursor::new(body));
    let _error = T::deserialize(&mut again).err();
    again.position()
}

/// Whether the first value of a body has too many arrays and maps within each other. The decoder of an enum counts none
/// of its variants, so this looks beforehand. Bytes that are no MessagePack are left to the decoder.
fn is_too_deep(body: &[u8]) -> bool {
    if body.len() <= MAX_DEPTH {
        return false;
    }
    // The number of values that are left at each depth.
    let mut left = vec![1_u64];
    let mut at = 0;
    while let Some(values) = left.last_mut() {
        if *values == 0 {
            left.pop();
            continue;
        }
        *values -= 1;
        let Some((value, bytes)) = read(&body[at..]) else {
            return false;
        };
        at = at.saturating_add(bytes);
        if at > body.len() {
            return false;
        }
        if let Some(values) = value {
            if left.len() > MAX_DEPTH {
                return true;
            }
            left.push(values);
        }
    }
    false
}

/// The number of values in the array or map that these bytes begin with, none for other values; and the number of bytes
/// before the next value.
fn read(bytes: &[u8]) -> Option<(Option<u64>, usize)> {
    let (&marker, rest) = bytes.split_first()?;
    let number = |width: usize| {
        let bytes = rest.get(..width)?.iter();
        Some(bytes.fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let scalar = |length: usize| Some((None, 1 + length));
    let sized = |width: usize, extra: usize| {
        let length = usize::try_from(number(width)?).ok()?;
        Some((None, length.saturating_add(1 + width + extra)))
    };
    match marker {
        0x00..=0x7f | 0xc0..=0xc3 | 0xe0..=0xff => scalar(0),
        0x80..=0x8f => Some((Some(2 * u64::from(marker & 0x0f)), 1)),
        0x90..=0x9f => Some((Some(u64::from(marker & 0x0f)), 1)),
        0xa0..=0xbf => scalar(usize::from(marker & 0x1f)),
        0xc4 | 0xd9 => sized(1, 0),
        0xc5 | 0xda => sized(2, 0),
        0xc6 | 0xdb => sized(4, 0),
        0xc7 => sized(1, 1),
        0xc8 => sized(2, 1),
        0xc9 => sized(4, 1),
        0xcc | 0xd0 => scalar(1),
        0xcd | 0xd1 => scalar(2),
        0xca | 0xce | 0xd2 => scalar(4),
        0xcb | 0xcf | 0xd3 => scalar(8),
        0xd4..=0xd8 => scalar(1 + (1 << (marker - 0xd4))),
        0xdc => Some((Some(number(2)?), 3)),
        0xdd => Some((Some(number(4)?), 5)),
        0xde => Some((Some(2 * number(2)?), 3)),
        0xdf => Some((Some(2 * number(4)?), 5)),
    }
}
