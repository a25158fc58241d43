//! A codec that compresses bodies.

use std::io::{Read, Write};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use queue_kit::{Bytes, Decode, Encode, Error, ErrorKind, Result, limits};

/// Compresses what another codec writes, by DEFLATE (RFC 1951), where that makes it shorter. The first byte says
/// whether it did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<C>(pub(crate) C);

const PLAIN: u8 = 0;
const DEFLATED: u8 = 1;

impl<T: ?Sized, C: Encode<T>> Encode<T> for Packed<C> {
    fn encode(&self, value: &T) -> Result<Bytes> {
        let plain = self.0.encode(value)?;
        let mut packed = DeflateEncoder::new(vec![DEFLATED], Compression::fast());
        let written = packed.write_all(&plain);
        let packed = written
            .and_then(|()| packed.finish())
            .map_err(|error| failed(error.to_string()))?;
        if packed.len() <= plain.len() {
            return Ok(packed.into());
        }
        Ok([&[PLAIN], &plain[..]].concat().into())
    }
}

impl<T, C: Decode<T>> Decode<T> for Packed<C> {
    fn decode(&self, body: &Bytes) -> Result<T> {
        match body.first() {
            Some(&PLAIN) => self.0.decode(&body.slice(1..)),
            Some(&DEFLATED) => {
                // A few bytes can unpack to gigabytes: no more is unpacked than a queue takes.
                let longest = limits::MAX_BATCH_BYTES;
                let mut plain = Vec::new();
                let mut unpacked = DeflateDecoder::new(&body[1..]).take(longest as u64 + 1);
                unpacked
                    .read_to_end(&mut plain)
                    .map_err(|error| failed(error.to_string()))?;
                if plain.len() > longest {
                    return Err(failed(format!(
                        "the body unpacks to more than {longest} bytes"
                    )));
                }
                self.0.decode(&plain.into())
            }
            _ => Err(failed("the body is not packed")),
        }
    }
}

fn failed(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Codec, why.into())
}
