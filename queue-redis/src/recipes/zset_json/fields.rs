//! What counts in a body that is a JSON object.

use bytes::Bytes;
use serde_json::{Map, Value};

/// The priority, in ms; 0 without one.
pub(super) fn priority(body: &Bytes) -> i64 {
    let priority = field(body, "priority").and_then(|value| value.as_i64());
    priority.unwrap_or(0)
}

/// The value of this field, as text.
pub(super) fn text(body: &Bytes, name: &str) -> Option<String> {
    match field(body, name)? {
        // As good as missing, or all messages without a value would be one.
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

fn field(body: &Bytes, name: &str) -> Option<Value> {
    let mut object: Map<String, Value> = serde_json::from_slice(body).ok()?;
    object.remove(name)
}
