//! The queues of a backend, for programs that use values.

use std::sync::Arc;

use crate::{
    Backend, Confirmation, Once, QueueConfig, QueueName, Removal, Result, StoredQueue,
    operators::OwnRefusals,
};

/// Opens queues of values on a backend. Cloning copies a pointer.
///
/// Bodies are JSON; [`Typed::codec`](super::Typed::codec) changes that per handle.
#[derive(Debug, Clone)]
pub struct Queues {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) refusals: Arc<OwnRefusals>,
}

impl Queues {
    /// Opens queues on this backend.
    pub fn new(backend: impl Backend) -> Self {
        Self::from(Arc::new(backend) as Arc<dyn Backend>)
    }

    /// The backend: queues of bytes, and the list of what exists.
    pub const fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// Warnings for an operator about a setup that works all the same: on Redis, for one, that a restart of
    /// the server loses all messages. One sentence each; none if all is well.
    ///
    /// ```
    /// # fn show(queues: &queue_core::Queues) {
    /// for warning in queues.warnings() {
    ///     eprintln!("{warning}");
    /// }
    /// # }
    /// ```
    pub fn warnings(&self) -> Vec<String> {
        self.backend.warnings()
    }

    /// The same queues through handles that confirm (R2): a push through
    /// [`confirmed`](super::Typed::confirmed) returns whether it has as many copies as `confirmation` asks
    /// for. Use the handles of `self` for messages that are not worth the wait.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use queue_core::{Confirmation, Queues};
    ///
    /// # async fn example(queues: Queues) -> queue_core::Result<()> {
    /// let half_a_second = Duration::from_millis(500);
    /// let safe = Confirmation::replicas(1).within(half_a_second);
    /// let charges = queues.confirmed(safe).await?.reliable("charges").open::<u64>().await?;
    ///
    /// let pushed = charges.confirmed(|charges| charges.push(&42)).await?;
    /// if !pushed.is_confirmed() {
    ///     eprintln!("message {}: {}", pushed.answer, pushed.copies);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::confirmed`]: `Configuration` if there are no copies to confirm.
    pub async fn confirmed(&self, confirmation: Confirmation) -> Result<Self> {
        Ok(Self::from(self.backend.confirmed(confirmation).await?))
    }

    /// Opens the queue of this name as it is stored, of any kind; `None` if there is none. Its messages are
    /// bytes.
    ///
    /// ```no_run
    /// # use queue_core::{AnyQueue, DelayConfig, QueueConfig, Queues};
    /// # async fn example(queues: Queues) -> queue_core::Result<()> {
    /// // One program makes the queue …
    /// queues.delay("reminders").max_attempts(9).open::<String>().await?;
    /// // … and another one opens it.
    /// let stored = queues.stored("reminders").await?.expect("it exists");
    /// let config = DelayConfig::default().with_max_attempts(9);
    /// assert_eq!(stored.config, QueueConfig::Delay(config));
    /// assert!(matches!(stored.queue, AnyQueue::Delay(_)));
    /// assert!(queues.stored("bills").await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name, and the errors of [`Backend::open_stored`].
    pub async fn stored(&self, name: &str) -> Result<Option<StoredQueue>> {
        self.backend.open_stored(&QueueName::new(name)?).await
    }

    /// Removes the queue of this name, of any kind, with all that it holds; returns true if there was
    /// anything to remove. A queue for one tenant or one job stays on the backend until it is removed.
    ///
    /// The next call of an open handle creates the queue again, empty: end the queue's producers and
    /// consumers first.
    ///
    /// ```no_run
    /// # use queue_core::{Queues, Removal};
    /// # async fn example(queues: Queues) -> queue_core::Result<()> {
    /// let frames = queues.reliable("frames-of-job-17").open::<u64>().await?;
    /// frames.push(&1).await?;
    /// drop(frames);
    /// assert!(queues.remove("frames-of-job-17", Removal::UnlessLeased).await?);
    /// assert!(!queues.remove("frames-of-job-17", Removal::UnlessLeased).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name, and the errors of [`Backend::remove`]: `InUse` if messages are leased.
    pub async fn remove(&self, name: &str, removal: Removal) -> Result<bool> {
        self.backend.remove(&QueueName::new(name)?, removal).await
    }

    /// Changes the stored configuration of an existing queue. Open handles go on, with the new configuration.
    /// Returns true if there is such a queue.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name, and the errors of [`Backend::reconfigure`].
    pub async fn reconfigure(&self, name: &str, config: impl Into<QueueConfig>) -> Result<bool> {
        let (name, config) = (QueueName::new(name)?, config.into());
        self.backend.reconfigure(&name, &config).await
    }

    /// Opens a store of once keys, with claims of a minute and marks of a day; [`Once`] says how to
    /// change both. A store is no queue, and may share a queue's name.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name, and errors of the backend.
    pub async fn once(&self, name: &str) -> Result<Once> {
        let name = QueueName::new(name)?;
        Ok(Once::new(self.backend.open_once(&name).await?))
    }
}

impl From<Arc<dyn Backend>> for Queues {
    fn from(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            refusals: Arc::default(),
        }
    }
}
