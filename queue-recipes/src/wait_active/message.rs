//! The JSON object of a topic's message.

use bytes::Bytes;
use queue_core::{Error, MessageId, Result, Timestamp};
use serde_json::Value;

use crate::{json::Members, server::id_of};

const BODY: &str = "body";
const DUE: &str = "delayTime";
const ID: &str = "id";

/// The id and the body of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopicMessage {
    pub(super) id: MessageId,
    pub(super) body: Bytes,
}

impl TopicMessage {
    /// Reads a message from a list, if it is an object with a body.
    pub(super) fn read(entry: &Bytes) -> Option<Self> {
        let members = Members::read(entry)?;
        Some(Self {
            body: members.string(BODY)?.into(),
            id: named(&members),
        })
    }
}

/// The id that the producer gave the message; without one, a hash of everything but the due time, which a retry
/// changes.
fn named(members: &Members<'_>) -> MessageId {
    if let Some(id) = members.string(ID) {
        return id_of(id.as_bytes());
    }
    let rest = members.iter().filter(|(name, _)| *name != DUE);
    let rest: String = rest
        .map(|(name, value)| format!("{name}:{value},"))
        .collect();
    id_of(rest.as_bytes())
}

/// A message of this library. Its fields are in alphabetical order.
pub(super) fn written(
    topic: &str,
    id: &str,
    body: &Bytes,
    created: Timestamp,
    due: Timestamp,
) -> Result<String> {
    let Ok(body) = std::str::from_utf8(body) else {
        return Err(Error::invalid(
            "the body is not UTF-8: wait-active keeps it as a string in JSON",
        ));
    };
    let [body, id, topic] = [body, id, topic].map(Value::from);
    let (created, due) = (date_time(created), due.as_millis());
    Ok(format!(
        r#"{{"body":{body},"createTime":"{created}","delayTime":{due},"id":{id},"topic":{topic}}}"#
    ))
}

/// The entry of a list with a new due time; all other bytes stay. An entry that is not a message stays the same.
pub(super) fn again(entry: &Bytes, due: Timestamp) -> Bytes {
    match Members::read(entry).filter(|members| members.string(BODY).is_some()) {
        Some(members) => members.with(DUE, &due.as_millis().to_string()).into(),
        None => entry.clone(),
    }
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
        let message = written("default", "7", &body, now, due).unwrap();
        assert_eq!(
            message,
            r#"{"body":"{\"order\":42}","createTime":"2020-03-27T10:00:00","delayTime":1585303230000,"id":"7","topic":"default"}"#
        );
        let read = TopicMessage::read(&message.into());
        let id = id_of(b"7");
        assert_eq!(read, Some(TopicMessage { id, body }));
    }

    #[test]
    fn only_the_body_is_needed_and_what_is_unknown_stays() {
        let entry = Bytes::from_static(br#"{"body":"b","id":null,"more":[1]}"#);
        let read = TopicMessage::read(&entry).unwrap();
        assert_eq!(read.body, "b");
        let again = again(&entry, Timestamp::from_millis(5));
        assert_eq!(again, r#"{"body":"b","id":null,"more":[1],"delayTime":5}"#);
        let again = TopicMessage::read(&again);
        assert_eq!(again, Some(read), "a retry is the same message");
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
