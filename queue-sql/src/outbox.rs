//! The producer's side: messages that commit with the caller's data.

use std::{
    collections::BTreeMap,
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

use queue_core::{
    Bytes, Distinct, Due, Error, Headers, Overflow, Push, QueueConfig, QueueKind, QueueName,
    Result, TimeToLive,
};

use crate::{Inserting, IntoMessage, NewRow, Statement, Transaction};

/// Puts messages into the caller's transaction. A [`Relay`](crate::Relay) moves them to their queues once the
/// transaction has committed.
///
/// A push is an INSERT: the message is there if, and only if, the transaction commits. Rows of one transaction get to
/// their queue in the order of their pushes.
///
/// The outbox knows its queues by name, kind and limits. It refuses, before the INSERT, a message that the queue would
/// refuse, and a queue that it does not know.
///
/// ```
/// use queue_core::{DelayConfig, ReliableConfig};
/// use queue_sql::Outbox;
///
/// let outbox = Outbox::new()
///     .queue("mails", ReliableConfig::default())?
///     .queue("reminders", DelayConfig::default())?;
/// # Ok::<(), queue_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Outbox {
    queues: BTreeMap<QueueName, QueueConfig>,
    how: Inserting,
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Outbox {
    /// An outbox without queues.
    pub const fn new() -> Self {
        Self {
            queues: BTreeMap::new(),
            how: Inserting {
                notify: true,
                prepared: false,
            },
        }
    }

    /// Adds a queue, with the configuration by which other programs open it.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name or configuration, and for a ring: its items have no dedup keys, so a repeat of a relay
    /// could not be told from a second item.
    pub fn queue(mut self, name: &str, config: impl Into<QueueConfig>) -> Result<Self> {
        let (name, config) = (QueueName::new(name)?, config.into());
        config.check()?;
        if config.kind() == QueueKind::Rotating {
            let message = "an outbox pushes to no ring, because a ring has no dedup keys: insert into the ring itself";
            return Err(Error::invalid(message).with_queue(&name));
        }
        self.queues.insert(name, config);
        Ok(self)
    }

    /// Leaves NOTIFY out of each INSERT. A relay then finds new rows when it polls.
    ///
    /// Postgres takes a lock for the whole database while a transaction that notifies commits. Leave NOTIFY out if
    /// thousands of transactions commit in a second.
    #[must_use]
    pub const fn without_notify(mut self) -> Self {
        self.how.notify = false;
        self
    }

    /// Lets sqlx keep the INSERT prepared on each connection, which saves a round trip.
    ///
    /// Leave it out if a pooler in transaction mode is between, unless that knows prepared statements (PgBouncer does from
    /// 1.21 on). tokio-postgres needs neither the statement nor the round trip.
    #[must_use]
    pub const fn with_prepared_statements(mut self) -> Self {
        self.how.prepared = true;
        self
    }

    /// Puts a message into the transaction, when the returned future is awaited.
    ///
    /// # Errors
    ///
    /// `Invalid` for a message that the queue would refuse, and for an unknown queue; the errors of the codec; nothing
    /// was sent then. `Configuration` if the table is missing, is of another version, or may not be written;
    /// `Unavailable` if the database cannot be reached. Such an error leaves the transaction as the database leaves it:
    /// Postgres lets nothing but a rollback follow.
    pub fn push<'a, T: Transaction + ?Sized>(
        &'a self,
        transaction: &'a mut T,
        queue: &'a str,
        message: impl IntoMessage,
    ) -> OutboxPush<'a, T> {
        OutboxPush {
            outbox: self,
            transaction,
            queue,
            push: message.into_message(),
        }
    }

    /// Puts messages into the transaction, on Postgres by one INSERT. They get to the queue in this order.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push). All messages are checked before the first is sent.
    pub async fn push_many<T: Transaction + ?Sized, M: IntoMessage>(
        &self,
        transaction: &mut T,
        queue: &str,
        messages: impl IntoIterator<Item = M>,
    ) -> Result<()> {
        let rows = messages
            .into_iter()
            .map(|message| self.row(queue, &message.into_message()?));
        let rows: Vec<NewRow> = rows.collect::<Result<_>>()?;
        match rows.is_empty() {
            true => Ok(()),
            false => transaction.insert(&rows, self.how).await,
        }
    }

    /// The INSERT for a message, for a client that this crate does not know: its text, and its values in order.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push) before anything is sent.
    pub fn statement(&self, queue: &str, message: impl IntoMessage) -> Result<Statement> {
        let row = self.row(queue, &message.into_message()?)?;
        Ok(Statement::insert(row, self.how.notify))
    }

    /// The queues and their configurations.
    pub(crate) fn queues(&self) -> impl Iterator<Item = (&QueueName, &QueueConfig)> {
        self.queues.iter()
    }

    fn row(&self, queue: &str, push: &Push) -> Result<NewRow> {
        let name = QueueName::new(queue)?;
        let Some(config) = self.queues.get(&name) else {
            let message = format!(
                "the outbox does not know the queue: add it by `Outbox::queue(\"{name}\", …)`, also where the relay runs"
            );
            return Err(Error::invalid(message).with_queue(&name));
        };
        Push::check_all(std::slice::from_ref(push), config.kind(), config.max_body())
            .and_then(|()| NewRow::new(queue, push))
            .map_err(|error| error.with_queue(&name))
    }
}

/// A message on its way into a transaction: await it. Dropped before, it changes nothing.
#[derive(Debug)]
#[must_use = "nothing is inserted before it is awaited"]
pub struct OutboxPush<'a, T: ?Sized> {
    outbox: &'a Outbox,
    transaction: &'a mut T,
    queue: &'a str,
    push: Result<Push>,
}

impl<T: ?Sized> OutboxPush<'_, T> {
    /// Makes the message due after a `Duration`, counted from the INSERT, or at a `Timestamp` or `SystemTime` (D1).
    pub fn due(self, due: impl Into<Due>) -> Self {
        self.set(|push| push.with_due(due))
    }

    /// Makes the message due after `delay`, counted from the INSERT.
    pub fn due_in(self, delay: Duration) -> Self {
        self.due(delay)
    }

    /// Sets the priority, on a priority queue.
    pub fn priority(self, priority: i16) -> Self {
        self.set(|push| push.with_priority(priority))
    }

    /// Puts the message into this group, on a grouped queue.
    pub fn group(self, key: impl Into<Bytes>) -> Self {
        self.set(|push| push.with_group(key))
    }

    /// Makes a repeat within the window a duplicate (L9), counted from when the relay pushes.
    ///
    /// The message goes under this key in place of the row's. If a relay dies between its push and its commit, and the
    /// window is over before another relay comes, the queue gets the message twice.
    pub fn dedup(self, key: impl Into<Bytes>, window: Duration) -> Self {
        self.set(|push| push.with_dedup(key, window))
    }

    /// Makes the message a duplicate while an earlier one under the key is not done (L9).
    ///
    /// The message goes under this key in place of the row's. If a relay dies between its push and its commit, and the
    /// message is done before another relay comes, the queue gets the message twice.
    pub fn unique(self, key: impl Into<Bytes>, longest: Duration) -> Self {
        self.set(|push| push.with_unique(key, longest))
    }

    /// Replaces the undelivered message under the same key (B7).
    pub fn distinct(self, distinct: impl Into<Distinct>) -> Self {
        self.set(|push| push.with_distinct(distinct))
    }

    /// Limits how long the message may wait, counted from the INSERT (L17).
    pub fn time_to_live(self, time_to_live: TimeToLive) -> Self {
        self.set(|push| push.with_time_to_live(time_to_live))
    }

    /// Sets the policy for a full bounded queue. A message that a full queue refuses waits in the table.
    pub fn overflow(self, overflow: Overflow) -> Self {
        self.set(|push| push.with_overflow(overflow))
    }

    /// Adds a header.
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(|push| push.with_header(name, value))
    }

    /// Sets all headers, but for the name of the job's type: a trace context, for one.
    pub fn headers(self, headers: Headers) -> Self {
        self.set(|push| {
            let headers = match push.headers.job() {
                Some(job) => headers.with_job(job),
                None => headers,
            };
            push.with_headers(headers)
        })
    }

    fn set(mut self, option: impl FnOnce(Push) -> Push) -> Self {
        self.push = self.push.map(option);
        self
    }
}

impl<'a, T: Transaction + ?Sized> IntoFuture for OutboxPush<'a, T> {
    type Output = Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let row = self
            .push
            .and_then(|push| self.outbox.row(self.queue, &push));
        let (transaction, how) = (self.transaction, self.outbox.how);
        Box::pin(async move { transaction.insert(&[row?], how).await })
    }
}
