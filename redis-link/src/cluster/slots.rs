//! The hash slots of a cluster: the slot of a key, and which node has which slots.

use std::collections::BTreeSet;

use queue_core::{Error, ErrorKind, Result};
use redis::Value;

/// The number of slots.
const SLOTS: u16 = 16_384;

/// The slot of a key: the slot of its hash tag, if it has one.
///
/// CRC16 (XMODEM) modulo 16,384, as in the Redis Cluster specification.
pub fn slot_of(key: &[u8]) -> u16 {
    crc16(tag_of(key).unwrap_or(key)) % SLOTS
}

/// The hash tag of a key: the text in its first braces, if it is not empty.
pub fn tag_of(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')?;
    let rest = &key[open + 1..];
    let close = rest.iter().position(|byte| *byte == b'}')?;
    (close > 0).then(|| &rest[..close])
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |mut crc: u16, byte| {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            let carry = crc & 0x8000 != 0;
            crc <<= 1;
            if carry {
                crc ^= 0x1021;
            }
        }
        crc
    })
}

/// A node's host and port.
pub(super) type NodeAddress = (String, u16);

/// Slots of one node, from the first to the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) primary: NodeAddress,
}

/// More than any cluster has: the Redis Cluster specification allows up to a thousand.
const MOST_NODES: usize = 2_000;

/// Reads the reply of `CLUSTER SLOTS`. A node that does not know its own host omits it; then the host is the one that
/// was `asked`.
pub(super) fn read(answer: &Value, asked: &str) -> Result<Vec<Range>> {
    let ranges = array(answer).ok_or_else(unreadable)?;
    let ranges = ranges.iter().map(|range| read_range(range, asked));
    let ranges: Vec<Range> = ranges.collect::<Option<_>>().ok_or_else(unreadable)?;
    let nodes: BTreeSet<&NodeAddress> = ranges.iter().map(|range| &range.primary).collect();
    if nodes.len() > MOST_NODES {
        // Each node would cost connections, and tasks that keep them open.
        let nodes = nodes.len();
        let text = format!("the answer of CLUSTER SLOTS names {nodes} nodes: {MOST_NODES} at most");
        return Err(Error::new(ErrorKind::Internal, text));
    }
    Ok(ranges)
}

fn read_range(range: &Value, asked: &str) -> Option<Range> {
    let [first, last, primary, ..] = array(range)? else {
        return None;
    };
    let [host, port, ..] = array(primary)? else {
        return None;
    };
    let host = match host {
        Value::BulkString(host) => std::str::from_utf8(host).ok()?,
        Value::SimpleString(host) => host,
        _ => "",
    };
    let range = Range {
        first: number(first)?,
        last: number(last)?,
        primary: (known_host(host, asked), number(port)?),
    };
    (range.first <= range.last && range.last < SLOTS).then_some(range)
}

/// Reads the address in a `MOVED` or `ASK` reply, such as `3999 10.0.0.7:6379`.
pub(super) fn read_redirect(message: &str, asked: &str) -> Option<NodeAddress> {
    let (_, place) = message.split_once(' ')?;
    let (host, port) = place.rsplit_once(':')?;
    Some((known_host(host, asked), port.trim_end().parse().ok()?))
}

fn known_host(host: &str, asked: &str) -> String {
    match host {
        "" | "?" => asked.to_owned(),
        host => host.to_owned(),
    }
}

fn array(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(values) => Some(values),
        _ => None,
    }
}

fn number(value: &Value) -> Option<u16> {
    match value {
        Value::Int(number) => u16::try_from(*number).ok(),
        _ => None,
    }
}

fn unreadable() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the answer of CLUSTER SLOTS cannot be read",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_equal_those_of_redis() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        // As `CLUSTER KEYSLOT` returns.
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"qk:{foo}:meta"), 12_182);
        assert_eq!(slot_of(b"{}foo"), crc16(b"{}foo") % SLOTS);
        assert_eq!(slot_of(b"a{b{c}d}"), slot_of(b"b{c"));
        assert_eq!(slot_of(b"qk:queues"), crc16(b"qk:queues") % SLOTS);
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn node(host: Value, port: i64) -> Value {
        Value::Array(vec![
            host,
            Value::Int(port),
            text("id"),
            Value::Array(vec![]),
        ])
    }

    fn range(first: i64, last: i64, primary: Value) -> Value {
        let replica = node(text("10.0.0.9"), 6379);
        Value::Array(vec![Value::Int(first), Value::Int(last), primary, replica])
    }

    #[test]
    fn owners_are_read_and_one_without_a_host_is_the_node_that_was_asked() {
        let answer = Value::Array(vec![
            range(0, 100, node(text("10.0.0.1"), 6379)),
            range(101, 200, node(Value::Nil, 7000)),
            range(201, 300, node(text(""), 7001)),
            range(
                301,
                16_383,
                node(Value::SimpleString("two".to_owned()), 7002),
            ),
        ]);
        let read = read(&answer, "asked").expect("good");
        let found: Vec<_> = read
            .iter()
            .map(|range| (range.first, range.last, &*range.primary.0, range.primary.1))
            .collect();
        let expected = [
            (0, 100, "10.0.0.1", 6379),
            (101, 200, "asked", 7000),
            (201, 300, "asked", 7001),
            (301, 16_383, "two", 7002),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn malformed_slot_lists_are_refused() {
        let primary = || node(text("h"), 1);
        for wrong in [
            Value::Nil,
            Value::Array(vec![Value::Int(3)]),
            Value::Array(vec![Value::Array(vec![Value::Int(0), Value::Int(1)])]),
            Value::Array(vec![range(5, 4, primary())]),
            Value::Array(vec![range(0, 16_384, primary())]),
            Value::Array(vec![range(-1, 3, primary())]),
            Value::Array(vec![range(0, 3, node(text("h"), 70_000))]),
            Value::Array(vec![range(0, 3, Value::Array(vec![]))]),
        ] {
            let error = read(&wrong, "asked").expect_err("wrong");
            assert!(error.to_string().contains("CLUSTER SLOTS"), "{error}");
        }
    }

    #[test]
    fn a_cluster_of_more_nodes_than_there_can_be_is_refused() {
        let nodes = |count: i64| {
            let ranges = (0..count).map(|slot| range(slot, slot, node(text("h"), slot)));
            read(&Value::Array(ranges.collect()), "asked")
        };
        assert_eq!(nodes(2_000).expect("it is large").len(), 2_000);
        let error = nodes(2_001).expect_err("nobody has so many");
        assert!(error.to_string().contains("2001 nodes"), "{error}");
    }

    #[test]
    fn a_redirection_is_read() {
        let place = |message| read_redirect(message, "asked");
        let at = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(place("3999 10.0.0.7:6379"), at("10.0.0.7", 6379));
        assert_eq!(place("3999 :6379"), at("asked", 6379));
        assert_eq!(place("3999 ::1:6379"), at("::1", 6379));
        for wrong in ["", "3999", "3999 host", "3999 host:port"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }
}
