//! A line of an export, as JSON has it.

use queue_core::{Error, MessageId, Result, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::message::{
    ExportedBody, ExportedGroup, ExportedMessage, ExportedPlace, ExportedTimeToLive,
};

/// The fields of a line. Bytes that are no text have a field of their own, as hexadecimal digits.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: MessageId,
    place: ExportedPlace,
    #[serde(default, skip_serializing_if = "is_default")]
    priority: i16,
    #[serde(default, skip_serializing_if = "is_default")]
    group: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    group_hex: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    is_first_of_group: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    due_at_ms: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "is_default")]
    time_to_live: Option<ExportedTimeToLive>,
    #[serde(default, skip_serializing_if = "is_default")]
    attempts: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    failure: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "is_default")]
    body: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    body_hex: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Serialize for ExportedMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Line::from(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ExportedMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Line::deserialize(deserializer)?
            .try_into()
            .map_err(de::Error::custom)
    }
}

impl From<ExportedMessage> for Line {
    fn from(message: ExportedMessage) -> Self {
        let (group, group_hex) = match message.group {
            None => (None, None),
            Some(ExportedGroup::Text(text)) => (Some(text), None),
            Some(ExportedGroup::Hex(digits)) => (None, Some(digits)),
        };
        let (body, body_hex) = match message.body {
            ExportedBody::Text(text) => (Some(text), None),
            ExportedBody::Hex(digits) => (None, Some(digits)),
        };
        Self {
            id: message.id,
            place: message.place,
            priority: message.priority,
            group,
            group_hex,
            is_first_of_group: message.is_first_of_group,
            due_at_ms: message.due_at_ms,
            time_to_live: message.time_to_live,
            attempts: message.attempts,
            failure: message.failure,
            headers: message.headers,
            body,
            body_hex,
        }
    }
}

impl TryFrom<Line> for ExportedMessage {
    type Error = Error;

    fn try_from(line: Line) -> Result<Self> {
        let group = match (line.group, line.group_hex) {
            (None, None) => None,
            (Some(text), None) => Some(ExportedGroup::Text(text)),
            (None, Some(digits)) => Some(ExportedGroup::Hex(digits)),
            (Some(_), Some(_)) => return Err(both("group")),
        };
        let body = match (line.body, line.body_hex) {
            (None, None) => {
                let message = "neither `body` nor `body_hex`: a message has one of them";
                return Err(Error::invalid(message));
            }
            (Some(text), None) => ExportedBody::Text(text),
            (None, Some(digits)) => ExportedBody::Hex(digits),
            (Some(_), Some(_)) => return Err(both("body")),
        };
        let group_bytes = group.as_ref().map(ExportedGroup::bytes).transpose();
        group_bytes.map_err(|error| in_field("group_hex", &error))?;
        let body_bytes = body.bytes();
        body_bytes.map_err(|error| in_field("body_hex", &error))?;
        Ok(Self {
            id: line.id,
            place: line.place,
            priority: line.priority,
            group,
            is_first_of_group: line.is_first_of_group,
            due_at_ms: line.due_at_ms,
            time_to_live: line.time_to_live,
            attempts: line.attempts,
            failure: line.failure,
            headers: line.headers,
            body,
        })
    }
}

fn both(field: &str) -> Error {
    Error::invalid(format!(
        "both `{field}` and `{field}_hex`: leave one of them out"
    ))
}

fn in_field(field: &str, error: &Error) -> Error {
    Error::invalid(format!("`{field}` has {error}"))
}
