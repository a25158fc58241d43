//! The JSON object that a message of a topic is.

use bytes::Bytes;
use queue_core::{Error, MessageId, Result, Timestamp};
use serde_json::{Map, Value};

use crate::recipes::server::id_of;

const BODY: &str = "body";
const CREATED: &str = "createTime";
const DUE: &str = "delayTime";
const ID: &str = "id";
const TOPIC: &str = "topic";

/// A message, with all fields that its producer gave it. They go in alphabetical order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TopicMessage(Map<String, Value>);

impl TopicMessage {
    pub(super) fn new(
        topic: &str,
        id: String,
        body: &Bytes,
        created: Timestamp,
        due: Timestamp,
    ) -> Result<Self> {
        let Ok(body) = std::str::from_utf8(body) else {
            return Err(Error::invalid(
                "the body is not UTF-8: wait-active keeps it as a string in JSON",
            ));
        };
        let fields = [
            (BODY, Value::from(body)),
            (CREATED, Value::from(date_time(created))),
            (DUE, Value::from(due.as_millis())),
            (ID, Value::from(id)),
            (TOPIC, Value::from(topic)),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        Ok(Self(fields.into_iter().collect()))
    }

    /// A message of a list, if it is an object with a body.
    pub(super) fn read(entry: &Bytes) -> Option<Self> {
        let fields: Map<String, Value> = serde_json::from_slice(entry).ok()?;
        fields.get(BODY)?.as_str()?;
        Some(Self(fields))
    }

    pub(super) fn body(&self) -> Bytes {
        let body = self.0.get(BODY).and_then(Value::as_str).unwrap_or_default();
        Bytes::copy_from_slice(body.as_bytes())
    }

    /// Named by its id where its producer gave it one, else by all of it but its due time, which a
    /// retry changes.
    pub(super) fn id(&self) -> MessageId {
        if let Some(id) = self.0.get(ID).and_then(Value::as_str) {
            return id_of(id.as_bytes());
        }
        let mut rest = self.clone();
        rest.0.remove(DUE);
        id_of(rest.to_json().as_bytes())
    }

    pub(super) fn due(&self) -> u64 {
        self.0.get(DUE).and_then(Value::as_u64).unwrap_or(0)
    }

    /// Its text, without the fields that are null.
    pub(super) fn to_json(&self) -> String {
        let mut fields = self.0.clone();
        fields.retain(|_, value| !value.is_null());
        Value::Object(fields).to_string()
    }
}

/// The entry of a list once more, due then. One that is no message stays what it is, so that its
/// consumer gets the same bytes again.
pub(super) fn again(entry: &Bytes, due: Timestamp) -> Bytes {
    let Some(TopicMessage(mut fields)) = TopicMessage::read(entry) else {
        return entry.clone();
    };
    fields.insert(DUE.to_owned(), Value::from(due.as_millis()));
    TopicMessage(fields).to_json().into()
}

/// A time as `2020-03-27T10:00:00`, in UTC.
fn date_time(time: Timestamp) -> String {
    let seconds = time.as_millis() / 1_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// The date of the nth day after 1970-01-01, by Howard Hinnant's `civil_from_days`.
const fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + (month <= 2) as u64;
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_written_as_published() {
        let (now, due) = (1_585_303_200_000, 1_585_303_230_000);
        let (now, due) = (Timestamp::from_millis(now), Timestamp::from_millis(due));
        let body = Bytes::from_static(b"{\"order\":42}");
        let message = TopicMessage::new("default", "7".to_owned(), &body, now, due).unwrap();
        assert_eq!(
            message.to_json(),
            r#"{"body":"{\"order\":42}","createTime":"2020-03-27T10:00:00","delayTime":1585303230000,"id":"7","topic":"default"}"#
        );
        assert_eq!(message.id(), id_of(b"7"));
        assert_eq!(TopicMessage::read(&message.to_json().into()), Some(message));
    }

    #[test]
    fn only_the_body_is_needed_and_what_is_unknown_stays() {
        let entry = Bytes::from_static(br#"{"body":"b","id":null,"more":[1]}"#);
        let read = TopicMessage::read(&entry).unwrap();
        assert_eq!(read.body(), "b");
        assert_eq!(read.to_json(), r#"{"body":"b","more":[1]}"#);
        let again = again(&entry, Timestamp::from_millis(5));
        assert_eq!(again, r#"{"body":"b","delayTime":5,"more":[1]}"#);
        let again = TopicMessage::read(&again).unwrap();
        assert_eq!(again.id(), read.id(), "a retry is the same message");
        for other in ["no json", r#"{"body":1}"#, "[]", r#"{"id":"7"}"#] {
            assert_eq!(TopicMessage::read(&Bytes::from(other)), None, "{other}");
        }
    }

    #[test]
    fn days_are_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (18_348, (2020, 3, 27)),
            (20_779, (2026, 11, 22)),
        ] {
            assert_eq!(civil(days), date);
        }
    }
}
