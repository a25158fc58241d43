//! A list of records for operators.
//!
//! It is a bounded queue: each record is a message under a distinct key, and a later one of that key replaces it (B7).
//! So the list works on each backend that has bounded queues, and has the promises of a queue.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, Json, LeasingExt, MessageId, Overflow, Page,
    Place, Push, Pushed, QueueName, Result, TimeToLive, limits,
};

/// The names of all lists.
const NAMES: [&str; 4] = ["qk-workers", "qk-wishes", "qk-refusals", "qk-times"];

/// Whether a queue of this name is a list for operators: nobody leases from it, and its messages wait for nobody.
pub fn is_operators_list(name: &QueueName) -> bool {
    NAMES.contains(&name.as_str())
}

/// A record of a list for operators.
pub trait OperatorsRecord: Serialize + DeserializeOwned + Send + Sync {
    /// The name of the queue that has the list.
    const LIST: &'static str;
    /// Records that are listed. One more drops the one that was written first.
    const CAPACITY: usize;
    /// How long a record is listed after it was written.
    const LISTED: Duration;
}

/// A list for operators, to write to.
pub struct OperatorsList<R> {
    queue: Arc<dyn BoundedQueue>,
    record: PhantomData<fn(R)>,
}

/// A record, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed<R> {
    /// The record.
    pub record: R,
    /// The id by which [`remove`](OperatorsList::remove) takes it off the list.
    pub id: MessageId,
    /// How long ago it was written, by the backend's clock.
    pub age: Duration,
}

impl<R: OperatorsRecord> OperatorsList<R> {
    /// Opens the list, and makes it where there is none.
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::open_bounded`].
    pub async fn open(backend: &dyn Backend) -> Result<Self> {
        let config = BoundedConfig::new(R::CAPACITY);
        Ok(Self {
            queue: backend.open_bounded(&name::<R>(), &config).await?,
            record: PhantomData,
        })
    }

    /// Writes records, each in place of the last one of its key, in one call. [`Pushed::Replaced`] names the record that
    /// was replaced; a record is not listed if the list is full of leased messages.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::push`](crate::Leasing::push): up to 128 records in a call.
    pub async fn write(&self, records: &[(String, R)]) -> Result<Vec<Pushed>> {
        self.write_for(records, R::LISTED).await
    }

    /// Writes records that are listed for this time.
    pub(super) async fn write_for(
        &self,
        records: &[(String, R)],
        time: Duration,
    ) -> Result<Vec<Pushed>> {
        let push = |(key, record): &(String, R)| {
            let listed = TimeToLive::drop_after(time);
            let push = Push::new(Json::write(record)?).with_time_to_live(listed);
            let push = push.with_distinct(key.clone());
            Ok(push.with_overflow(Overflow::DropOldest))
        };
        let pushes: Vec<Push> = records.iter().map(push).collect::<Result<_>>()?;
        self.queue.push(&pushes).await
    }

    /// Takes a record off the list.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::cancel`](crate::Leasing::cancel).
    pub async fn remove(&self, id: MessageId) -> Result<()> {
        self.queue.cancel_one(id).await.map(drop)
    }

    /// Reads the list, the records that were written first before others; nothing where there is no list. Skips records
    /// that do not decode, which are of a later version.
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::open_stored`] and of [`Leasing::peek`](crate::Leasing::peek).
    pub async fn read(backend: &dyn Backend) -> Result<Vec<Listed<R>>> {
        let stored = backend.open_stored(&name::<R>()).await?;
        let Some(AnyQueue::Bounded(queue)) = stored.map(|stored| stored.queue) else {
            return Ok(Vec::new());
        };
        let mut listed = Vec::new();
        let mut page = Page::first(limits::MAX_PAGE);
        loop {
            let read = queue.peek(Place::Ready, page).await?;
            listed.extend(read.entries.iter().filter_map(|one| {
                Some(Listed {
                    record: Json::read(&one.message.body).ok()?,
                    id: one.message.id,
                    age: one.age,
                })
            }));
            match read.next {
                Some(next) if listed.len() < R::CAPACITY => {
                    page = Page::after(next, limits::MAX_PAGE);
                }
                _ => return Ok(listed),
            }
        }
    }
}

impl<R> fmt::Debug for OperatorsList<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OperatorsList").field(&self.queue).finish()
    }
}

fn name<R: OperatorsRecord>() -> QueueName {
    debug_assert!(NAMES.contains(&R::LIST), "a list that no tool knows");
    QueueName::new(R::LIST).expect("the name is one")
}
