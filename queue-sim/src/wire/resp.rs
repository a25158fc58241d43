//! The part of the Redis protocol that a wire needs: the end of a value, and the words of a
//! request.

use std::io::{self, ErrorKind, Write};

use bytes::Bytes;

/// The length of the first value; `None` until all of it has come.
pub(super) fn value_len(bytes: &[u8]) -> Option<usize> {
    let line = line_len(bytes)?;
    let count = || number(&bytes[1..line - 2]).unwrap_or(0);
    match bytes[0] {
        b'$' | b'!' | b'=' => {
            let Ok(length) = usize::try_from(count()) else {
                return Some(line);
            };
            let end = line + length + 2;
            (bytes.len() >= end).then_some(end)
        }
        b'*' | b'~' | b'>' => values_len(bytes, line, count()),
        b'%' => values_len(bytes, line, 2 * count()),
        // Attributes come before the value that they are about.
        b'|' => values_len(bytes, line, 2 * count() + 1),
        _ => Some(line),
    }
}

fn values_len(bytes: &[u8], mut at: usize, count: i64) -> Option<usize> {
    for _ in 0..count {
        at += value_len(&bytes[at..])?;
    }
    Some(at)
}

/// The length of the first line, with its end.
fn line_len(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some(end + 1)
}

/// The number in bytes, the most significant first.
pub(super) fn big_endian(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter();
    bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// A decimal number.
pub(super) fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The words of a whole request; `None` if it is not an array of bulk strings.
pub(super) fn words(request: &Bytes) -> Option<Vec<Bytes>> {
    let line = line_len(request)?;
    let count = number(request.get(1..line - 2)?)?;
    let mut words = Vec::with_capacity(usize::try_from(count).ok()?);
    let mut at = line;
    for _ in 0..count {
        let head = line_len(request.get(at..)?)?;
        let digits = request[at..at + head].strip_prefix(b"$")?.trim_ascii_end();
        let first = at + head;
        let end = first.checked_add(usize::try_from(number(digits)?).ok()?)?;
        if !request.get(end..)?.starts_with(b"\r\n") {
            return None;
        }
        words.push(request.slice(first..end));
        at = end + 2;
    }
    Some(words)
}

/// Writes a request.
pub(super) fn encode<W: AsRef<[u8]>>(words: &[W], out: &mut Vec<u8>) {
    head(b'*', words.len(), out);
    for word in words {
        bulk(word.as_ref(), out);
    }
}

/// Writes a bulk string.
pub(super) fn bulk(text: &[u8], out: &mut Vec<u8>) {
    head(b'$', text.len(), out);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

/// Writes the first line of a value that has a length.
pub(super) fn head(kind: u8, length: usize, out: &mut Vec<u8>) {
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{}{length}\r\n", char::from(kind));
}

/// Checks the reply to a command of the wire's own, which is never an error.
pub(super) fn accepted(reply: &[u8]) -> io::Result<()> {
    if reply.first() == Some(&b'-') {
        let reply = String::from_utf8_lossy(reply).into_owned();
        return Err(io::Error::new(ErrorKind::InvalidData, reply));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_it_ends_and_not_before() {
        let values: [&[u8]; 9] = [
            b"+OK\r\n",
            b":42\r\n",
            b"_\r\n",
            b"$-1\r\n",
            b"$5\r\na\r\nbc\r\n",
            b"*2\r\n$1\r\nx\r\n*1\r\n:1\r\n",
            b"%1\r\n+key\r\n*0\r\n",
            b"|1\r\n+key\r\n+value\r\n:1\r\n",
            b",3.5\r\n",
        ];
        for value in values {
            for end in 0..value.len() {
                assert_eq!(value_len(&value[..end]), None, "{end} of {value:?}");
            }
            let more = [value, b"+more\r\n"].concat();
            assert_eq!(value_len(&more), Some(value.len()), "{value:?}");
        }
    }

    #[test]
    fn an_encoded_request_has_the_same_words() {
        let (mut request, words_in) = (Vec::new(), ["SET", "", "a\r\nb"]);
        encode(&words_in, &mut request);
        assert_eq!(words(&request.into()).unwrap(), words_in);
    }

    #[test]
    fn malformed_requests_have_no_words() {
        let texts: [&[u8]; 7] = [
            b"PING\r\n",
            b"*1\r\n:1\r\n",
            b"*2\r\n$1\r\nx\r\n",
            b"*1\r\n$-1\r\n",
            b"*1\r\n$2\r\nx\r\n",
            b"*1\r\n$1\r\nxyz\r\n",
            b"*1\r\n$9223372036854775807\r\nx\r\n",
        ];
        for text in texts {
            assert_eq!(words(&Bytes::from_static(text)), None, "{text:?}");
        }
    }

    #[test]
    fn a_number_is_decimal_and_fits() {
        for found in [0, 7, -12, i64::MAX, i64::MIN] {
            assert_eq!(number(found.to_string().as_bytes()), Some(found));
        }
        for text in ["", "-", "1a", "--1", "9223372036854775808"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }
}
