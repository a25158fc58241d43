//! The fields that matter in a body that is a JSON object.

use bytes::Bytes;

use crate::json::{Members, same_for_equals, whole};

/// The priority in ms, without a fraction; 0 if it is missing or not a number.
pub(super) fn priority(body: &Bytes) -> i64 {
    let members = Members::read(body);
    members
        .and_then(|members| members.get("priority"))
        .map_or(0, whole)
}

/// The value in this field, as JSON. Null counts as no field: otherwise all messages with null would be one.
pub(super) fn named(body: &Bytes, name: &str) -> Option<String> {
    same_for_equals(Members::read(body)?.get(name)?)
}
