use redis::{RedisResult, Value};

use super::resp;

/// The server's reply to one request, in the protocol's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply(pub(super) Vec<u8>);

impl Reply {
    /// The reply with this value: a number, bytes, nothing, `OK`, or an array of such.
    ///
    /// # Panics
    ///
    /// For a value of another type.
    pub fn of(value: &Value) -> Self {
        let mut text = Vec::new();
        write(value, &mut text);
        Self(text)
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

    /// The error, its code first, if the reply is one.
    pub fn error(&self) -> Option<&[u8]> {
        match self.0.split_first()? {
            (b'-' | b'!', text) => Some(text.trim_ascii_end()),
            _ => None,
        }
    }
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Nil => out.extend_from_slice(b"_\r\n"),
        Value::Okay => out.extend_from_slice(b"+OK\r\n"),
        Value::Int(number) => out.extend_from_slice(format!(":{number}\r\n").as_bytes()),
        Value::BulkString(text) => resp::bulk(text, out),
        Value::Array(values) => {
            resp::head(b'*', values.len(), out);
            for value in values {
                write(value, out);
            }
        }
        other => panic!("a script never answers {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let value = Value::Array(vec![
            Value::Int(-7),
            Value::BulkString(b"a\r\nb".to_vec()),
            Value::Nil,
            Value::Array(vec![Value::Okay]),
        ]);
        assert_eq!(Reply::of(&value).value().unwrap(), value);
        assert_eq!(Reply::of(&Value::Int(42)).number(), Some(42));
        assert!(Reply::of(&Value::Nil).is_nil());
    }
}
