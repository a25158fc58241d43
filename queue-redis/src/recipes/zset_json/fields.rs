//! The fields that count in a body that is a JSON object.

use bytes::Bytes;

use crate::recipes::json::{Members, same_for_equals, whole};

/// The priority in ms, without a fraction; 0 without one, or if it is no number.
pub(super) fn priority(body: &Bytes) -> i64 {
    let members = Members::read(body);
    members
        .and_then(|members| members.get("priority"))
        .map_or(0, whole)
}

/// The name of the value in this field, as JSON. A null is as good as no field: otherwise all messages with
/// null would be one.
pub(super) fn named(body: &Bytes, name: &str) -> Option<String> {
    same_for_equals(Members::read(body)?.get(name)?)
}
