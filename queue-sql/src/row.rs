//! A message as a row of the outbox, and back.

use std::{collections::BTreeMap, time::Duration};

use queue_core::{
    Bytes, Dedup, Distinct, Due, Error, Headers, Json, Outdated, Overflow, Push, Result,
    TimeToLive, Timestamp, limits,
};
use serde::{Deserialize, Serialize};

/// A row that a producer inserts: the values of the columns of these names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewRow {
    /// The name of the queue.
    pub queue: String,
    /// The options of the message, as JSON; `None` if it has none.
    pub options: Option<String>,
    /// The headers, as a JSON object of strings; `None` if there are none.
    pub headers: Option<String>,
    /// The body.
    pub body: Bytes,
}

/// A row that a relay has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// Its number in the table.
    pub id: i64,
    /// When it was inserted: microseconds since 1970, by the database's clock.
    pub created: i64,
    /// The time since then, by the same clock.
    pub age: Duration,
    /// The name of the queue.
    pub queue: String,
    /// The options, as in [`NewRow`].
    pub options: Option<String>,
    /// The headers, as in [`NewRow`].
    pub headers: Option<String>,
    /// The body.
    pub body: Bytes,
    /// Whether another relay has an earlier row of the same transaction and queue. Such a row waits.
    pub behind: bool,
}

/// The options of a [`Push`]: all but body and headers. Times are in milliseconds.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    due_after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<Key>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dedup: Option<Timed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique: Option<Timed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distinct: Option<Key>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_latest: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drop_after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bury_after: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    drop_oldest: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Timed {
    key: Key,
    window: u64,
}

/// Text if it is UTF-8, and else its bytes.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Key {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Bytes> for Key {
    fn from(bytes: &Bytes) -> Self {
        match str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(bytes.to_vec()),
        }
    }
}

impl From<Key> for Bytes {
    fn from(key: Key) -> Self {
        match key {
            Key::Text(text) => text.into(),
            Key::Bytes(bytes) => bytes.into(),
        }
    }
}

impl NewRow {
    /// The row for a checked message.
    pub(crate) fn new(queue: &str, push: &Push) -> Result<Self> {
        let options = Options::of(push)?;
        let headers: BTreeMap<&str, &str> = push.headers.iter().collect();
        Ok(Self {
            queue: queue.to_owned(),
            options: (options != Options::default())
                .then(|| text(&options))
                .transpose()?,
            headers: (!headers.is_empty()).then(|| text(&headers)).transpose()?,
            body: push.body.clone(),
        })
    }
}

impl OutboxRow {
    /// The message, with times counted from the insert, under the row's key in this outbox unless it has a dedup key of
    /// its own.
    ///
    /// # Errors
    ///
    /// `Codec` if another program, or a newer version of this crate, wrote the row in another way.
    pub(crate) fn message(&self, outbox: &str) -> Result<Push> {
        let options: Options = self
            .options
            .as_deref()
            .map_or(Ok(Options::default()), read)?;
        let headers: BTreeMap<String, String> =
            self.headers.as_deref().map_or(Ok(BTreeMap::new()), read)?;
        let push = Push::new(self.body.clone()).with_headers(Headers::from_iter(headers));
        let mut push = options.set(push, self.age);
        if push.dedup.is_none() {
            // An id alone may come again: a database that lost its last transactions gives their ids to other rows.
            let key = format!("outbox/{outbox}/{}/{}", self.id, self.created);
            push = push.with_dedup(key, limits::MAX_DEDUP_WINDOW);
        }
        Ok(push)
    }

    /// Bytes of the row's columns.
    pub fn size(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.body.len() + text(&self.options) + text(&self.headers)
    }
}

impl Options {
    fn of(push: &Push) -> Result<Self> {
        let mut options = Self {
            priority: push.priority,
            group: push.group.as_ref().map(Key::from),
            drop_oldest: push.overflow == Overflow::DropOldest,
            ..Self::default()
        };
        match push.due {
            Some(Due::After(delay)) => options.due_after = Some(limits::delay_millis(delay)?),
            Some(Due::At(time)) => options.due_at = Some(time.as_millis()),
            None => {}
        }
        if let Some(dedup) = &push.dedup {
            let key = Key::from(&dedup.key);
            let timed = Some(Timed {
                key,
                window: dedup.window_millis()?,
            });
            match dedup.until_done {
                true => options.unique = timed,
                false => options.dedup = timed,
            }
        }
        if let Some(distinct) = &push.distinct {
            options.distinct = Some(Key::from(&distinct.key));
            options.at_latest = distinct.longest_millis()?;
        }
        if let Some(live) = push.time_to_live {
            let limit = Some(limits::time_to_live_millis(live.limit)?);
            match live.then {
                Outdated::Drop => options.drop_after = limit,
                Outdated::Bury => options.bury_after = limit,
            }
        }
        Ok(options)
    }

    /// Sets the options on a message that was inserted `age` ago.
    fn set(self, mut push: Push, age: Duration) -> Push {
        let millis = Duration::from_millis;
        let after = self
            .due_after
            .map(|delay| Due::After(millis(delay).saturating_sub(age)));
        let at = self
            .due_at
            .map(|time| Due::At(Timestamp::from_millis(time)));
        push.due = after.or(at);
        push.priority = self.priority;
        push.group = self.group.map(Bytes::from);
        let dedup = |until_done| {
            move |timed: Timed| Dedup {
                key: timed.key.into(),
                window: millis(timed.window),
                until_done,
            }
        };
        push.dedup = self
            .dedup
            .map(dedup(false))
            .or(self.unique.map(dedup(true)));
        push.distinct = self.distinct.map(|key| {
            let distinct = Distinct::new(key);
            match self.at_latest {
                Some(longest) => distinct.at_latest(millis(longest)),
                None => distinct,
            }
        });
        if self.drop_oldest {
            push.overflow = Overflow::DropOldest;
        }
        // An outdated row is pushed all the same, so that the queue counts or buries it.
        let left = |limit| millis(limit).saturating_sub(age).max(millis(1));
        let drop_after = self
            .drop_after
            .map(|limit| TimeToLive::drop_after(left(limit)));
        let bury_after = self
            .bury_after
            .map(|limit| TimeToLive::bury_after(left(limit)));
        push.time_to_live = drop_after.or(bury_after);
        push
    }
}

fn text<T: Serialize>(value: &T) -> Result<String> {
    let bytes = Json::write(value)?;
    String::from_utf8(bytes.into()).map_err(|error| Error::invalid(error.to_string()))
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    Json::read(&Bytes::copy_from_slice(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(push: &Push, age: Duration) -> OutboxRow {
        let NewRow {
            queue,
            options,
            headers,
            body,
        } = NewRow::new("mails", push).unwrap();
        OutboxRow {
            id: 7,
            created: 5,
            age,
            queue,
            options,
            headers,
            body,
            behind: false,
        }
    }

    #[test]
    fn a_row_holds_everything_that_a_push_says() {
        let hour = Duration::from_secs(3600);
        let bare = Push::new("body").with_header("tenant", "acme");
        let pushes = [
            bare.clone()
                .with_dedup("k", hour)
                .with_distinct(Distinct::new("d").at_latest(hour)),
            bare.clone()
                .with_unique(&b"\xff\x00"[..], limits::MAX_UNIQUE)
                .with_due(Timestamp::from_millis(9)),
            bare.clone()
                .with_dedup("k", hour)
                .with_priority(-3)
                .with_group("g")
                .with_overflow(Overflow::DropOldest),
            bare.clone()
                .with_dedup("k", hour)
                .with_due(hour)
                .with_time_to_live(TimeToLive::bury_after(2 * hour)),
        ];
        for push in pushes {
            assert_eq!(row(&push, Duration::ZERO).message("o").unwrap(), push);
        }
        let keyed = row(&bare, Duration::ZERO).message("o").unwrap();
        let key = keyed.dedup.as_ref().map(|dedup| &dedup.key[..]);
        assert_eq!(key, Some(&b"outbox/o/7/5"[..]));
    }

    #[test]
    fn delays_and_times_to_live_count_from_the_insert() {
        let second = Duration::from_secs(1);
        let push = Push::new("")
            .with_due(3 * second)
            .with_time_to_live(TimeToLive::drop_after(5 * second));
        let later = row(&push, 2 * second).message("o").unwrap();
        assert_eq!(later.due, Some(Due::After(second)));
        assert_eq!(later.time_to_live, Some(TimeToLive::drop_after(3 * second)));
        let outdated = row(&push, 9 * second).message("o").unwrap();
        assert_eq!(outdated.due, Some(Due::After(Duration::ZERO)));
        let least = TimeToLive::drop_after(Duration::from_millis(1));
        assert_eq!(outdated.time_to_live, Some(least));
    }

    #[test]
    fn an_option_that_this_version_does_not_know_is_an_error() {
        let mut newer = row(&Push::new(""), Duration::ZERO);
        newer.options = Some(r#"{"colour":"red"}"#.to_owned());
        assert!(
            newer
                .message("o")
                .unwrap_err()
                .to_string()
                .contains("unknown field")
        );
    }
}
