//! Jobs inside of the body of another job.

use queue_core::{Bytes, Due, Encode, Error, Headers, Push, Result, Takes, Typed};
use serde::{Deserialize, Serialize};

/// Jobs for one queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Members {
    pub(super) queue: String,
    jobs: Vec<Member>,
}

/// One job: what a push of it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Member {
    body: Text,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due: Option<Due>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<Text>,
}

/// Bytes: as they are if they are text, or else as numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Text(String),
    Bytes(Vec<u8>),
}

impl Text {
    fn of(bytes: &Bytes) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(bytes.to_vec()),
        }
    }

    fn bytes(&self) -> Bytes {
        match self {
            Self::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            Self::Bytes(bytes) => Bytes::copy_from_slice(bytes),
        }
    }
}

impl Members {
    /// These jobs, in the codec of the queue.
    ///
    /// # Errors
    ///
    /// `Invalid` if the handle has no name; the errors of the codec.
    pub(super) fn of<V, T, Q, C>(
        queue: &Typed<T, Q, C>,
        jobs: impl IntoIterator<Item = V>,
    ) -> Result<Self>
    where
        T: Takes<V>,
        Q: ?Sized,
        C: Encode<V> + ?Sized,
    {
        let pushes = jobs.into_iter().map(|job| queue.encode(&job));
        Self::of_pushes(queue, pushes)
    }

    pub(super) fn of_pushes<T, Q: ?Sized, C: ?Sized>(
        queue: &Typed<T, Q, C>,
        pushes: impl Iterator<Item = Result<Push>>,
    ) -> Result<Self> {
        let name = queue.name().ok_or_else(|| {
            Error::invalid(
                "a queue without a name: open it by Queues, or name its handle by `named`",
            )
        })?;
        Ok(Self {
            queue: name.to_string(),
            jobs: pushes
                .map(|push| Member::of(&push?))
                .collect::<Result<_>>()?,
        })
    }

    pub(super) const fn len(&self) -> usize {
        self.jobs.len()
    }

    /// The pushes of the jobs.
    pub(super) fn pushes(&self) -> impl Iterator<Item = Result<Push>> + Send + '_ {
        self.jobs.iter().map(|member| Ok(member.push()))
    }
}

impl Member {
    fn of(push: &Push) -> Result<Self> {
        let has_key = push.dedup.is_some() || push.distinct.is_some();
        if has_key || push.time_to_live.is_some() || push.overflow != queue_core::Overflow::Reject {
            return Err(Error::invalid(
                "a job of a batch or a chain with a key, a time to live or an overflow policy: it may have headers, a \
                 due time, a priority and a group",
            ));
        }
        let headers = push.headers.iter();
        Ok(Self {
            body: Text::of(&push.body),
            headers: headers
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            due: push.due,
            priority: push.priority,
            group: push.group.as_ref().map(Text::of),
        })
    }

    fn push(&self) -> Push {
        let headers: Headers = self.headers.iter().cloned().collect();
        let mut push = Push::new(self.body.bytes()).with_headers(headers);
        push.due = self.due;
        push.priority = self.priority;
        push.group = self.group.as_ref().map(Text::bytes);
        push
    }
}
