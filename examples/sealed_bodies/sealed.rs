//! A codec that encrypts bodies, with keys that change.

use std::{collections::BTreeMap, fmt, sync::Arc};

use queue_kit::{Bytes, Decode, Encode, Error, ErrorKind, Result};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom, SystemRandom},
};

/// Encrypts what another codec writes, by ChaCha20-Poly1305 (RFC 8439).
///
/// A body is the number of its key, a nonce, the encrypted bytes, and their tag. The nonces are random: change the
/// key before it has sealed 2^32 bodies. A body that was changed on its way does not decode, nor does one whose key
/// is not known.
#[derive(Clone)]
pub(crate) struct Sealed<C> {
    inner: C,
    sealing: u8,
    keys: Arc<BTreeMap<u8, LessSafeKey>>,
}

impl<C> Sealed<C> {
    /// Seals by the key of this number, and opens by all. To change keys: first give the new key to every program,
    /// then seal by it, and take the old one away when no body has its number any more.
    pub(crate) fn new(inner: C, sealing: u8, keys: &[(u8, [u8; 32])]) -> Result<Self> {
        let key = |bytes| UnboundKey::new(&CHACHA20_POLY1305, bytes).expect("32 bytes");
        let keys = keys.iter();
        let keys = keys.map(|(number, bytes)| (*number, LessSafeKey::new(key(bytes))));
        let keys = Arc::new(BTreeMap::from_iter(keys));
        let sealed = Self {
            inner,
            sealing,
            keys,
        };
        sealed.key(sealing)?;
        Ok(sealed)
    }

    fn key(&self, number: u8) -> Result<&LessSafeKey> {
        self.keys
            .get(&number)
            .ok_or_else(|| failed(format!("there is no key {number}")))
    }
}

fn failed(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Codec, why.into())
}

impl<T: ?Sized, C: Encode<T>> Encode<T> for Sealed<C> {
    fn encode(&self, value: &T) -> Result<Bytes> {
        let mut nonce = [0; NONCE_LEN];
        let filled = SystemRandom::new().fill(&mut nonce);
        filled.map_err(|_| failed("the system has no random bytes"))?;
        let mut bytes = self.inner.encode(value)?.to_vec();
        let (aad, nonce_used) = (
            Aad::from([self.sealing]),
            Nonce::assume_unique_for_key(nonce),
        );
        let sealed = self.key(self.sealing)?;
        let sealed = sealed.seal_in_place_append_tag(nonce_used, aad, &mut bytes);
        sealed.map_err(|_| failed("the body is too long to be encrypted"))?;
        Ok([&[self.sealing], &nonce[..], &bytes].concat().into())
    }
}

impl<T, C: Decode<T>> Decode<T> for Sealed<C> {
    fn decode(&self, body: &Bytes) -> Result<T> {
        let parts = body.split_first();
        let parts = parts.and_then(|(key, rest)| Some((*key, rest.split_first_chunk()?)));
        let Some((number, (nonce, sealed))) = parts else {
            return Err(failed("the body is too short to be encrypted"));
        };
        let (aad, nonce) = (Aad::from([number]), Nonce::assume_unique_for_key(*nonce));
        let mut bytes = sealed.to_vec();
        let opened = self.key(number)?.open_in_place(nonce, aad, &mut bytes);
        let opened = opened.map_err(|_| {
            failed(format!(
                "the body was not sealed by key {number}, or was changed"
            ))
        })?;
        self.inner.decode(&Bytes::copy_from_slice(opened))
    }
}

/// Shows the numbers of the keys, and nothing of the keys.
impl<C: fmt::Debug> fmt::Debug for Sealed<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed")
            .field("inner", &self.inner)
            .field("sealing", &self.sealing)
            .field("keys", &self.keys.keys())
            .finish()
    }
}
