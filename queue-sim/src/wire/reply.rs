use queue_core::Timestamp;
use redis::{RedisResult, Value};

use super::resp;

/// The server's reply to one request, in the protocol's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply(pub(super) Vec<u8>);

impl Reply {
    /// The reply that is this number.
    pub fn integer(number: i64) -> Self {
        Self(format!(":{number}\r\n").into_bytes())
    }

    /// The reply to `TIME`: seconds and microseconds.
    pub(super) fn time(now: Timestamp) -> Self {
        let (seconds, millis) = (now.as_millis() / 1_000, now.as_millis() % 1_000);
        let words = [seconds.to_string(), (millis * 1_000).to_string()];
        let mut reply = Vec::new();
        resp::encode(&words, &mut reply);
        Self(reply)
    }

    /// The reply's value.
    ///
    /// # Errors
    ///
    /// If the reply is malformed.
    pub fn value(&self) -> RedisResult<Value> {
        redis::parse_redis_value(&self.0)
    }

    /// The number, if the reply is one.
    pub fn number(&self) -> Option<i64> {
        match self.0.split_first()? {
            (b':', digits) => resp::number(digits.strip_suffix(b"\r\n")?),
            _ => None,
        }
    }

    /// Whether the reply is nothing.
    pub fn is_nil(&self) -> bool {
        matches!(&*self.0, b"_\r\n" | b"$-1\r\n" | b"*-1\r\n")
    }

    /// Whether a script asks for the keys of the dedup marks, too.
    pub fn wants_keys(&self) -> bool {
        matches!(&*self.0, b"+KEYS\r\n")
    }

    /// Whether a script refuses to work on a queue that is not in the list of queues yet.
    pub fn is_unlisted(&self) -> bool {
        self.0.starts_with(b"+UNLISTED ")
    }

    /// The error, its code first, if the reply is one.
    pub fn error(&self) -> Option<&[u8]> {
        match self.0.split_first()? {
            (b'-' | b'!', text) => Some(text.trim_ascii_end()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_as_written() {
        let reply = Reply::integer(-7);
        assert_eq!(reply.value().unwrap(), Value::Int(-7));
        assert_eq!(reply.number(), Some(-7));
    }
}
