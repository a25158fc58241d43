//! The stored schedules, for schedulers and operators.

use std::sync::Arc;

use queue_core::{Backend, Error, ErrorKind, QueueName, Queues, Result, RotatingConfig, Timestamp};

use super::{
    calendar::Calendar,
    record::{Change, ClaimedSlot, Definition, Record, State},
    register::{Register, Versioned},
    target::Target,
};

/// The schedules that are stored under a name: to list them, and to disable, enable, run and remove them. Cloning copies
/// pointers.
#[derive(Debug, Clone)]
pub struct Schedules {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) register: Register,
    pub(crate) name: Arc<str>,
}

/// A stored schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleInfo {
    /// Its name.
    pub name: String,
    /// When it has slots, in words: `0 3 * * * (Europe/Berlin)`, `every 60000 ms`.
    pub rule: String,
    /// The queue that its messages go to.
    pub queue: String,
    /// Whether a slot is skipped while the message of the last one is there.
    pub unless_running: bool,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The next slot; none while it is disabled.
    pub next: Option<Timestamp>,
}

impl Schedules {
    /// Opens the schedules of this name, creating their ring if it does not exist.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name. `ConfigMismatch` if the name is that of a queue of another kind. `Configuration` if the
    /// backend has no rings or does not tell its time. Errors of the backend.
    pub async fn open(queues: &Queues, name: &str) -> Result<Self> {
        let backend = Arc::clone(queues.backend());
        let config = RotatingConfig::default();
        let ring = backend
            .open_rotating(&QueueName::new(name)?, &config)
            .await?;
        backend.now().await?;
        Ok(Self {
            backend,
            register: Register::new(ring),
            name: name.into(),
        })
    }

    /// All schedules, by name.
    ///
    /// # Errors
    ///
    /// Errors of the backend.
    pub async fn list(&self) -> Result<Vec<ScheduleInfo>> {
        let now = self.backend.now().await?;
        let mut listed = Vec::new();
        for (name, Versioned { record, .. }) in self.register.read().await? {
            let (definition, state) = match record.change {
                Some(Change { definition, state }) => (definition, state),
                None => (record.definition, record.state),
            };
            if state == State::Removed {
                continue;
            }
            let enabled = state == State::Enabled;
            // The slot that was pushed ahead, or the next one.
            let done = Timestamp::from_millis(record.done);
            let next = match enabled {
                true if done > now => Some(done),
                true => Calendar::of(&definition.rule)?.after(now),
                false => None,
            };
            listed.push(ScheduleInfo {
                name,
                rule: definition.rule.text(),
                queue: definition.queue,
                unless_running: definition.unless_running,
                enabled,
                next,
            });
        }
        Ok(listed)
    }

    /// Disables a schedule: it has no slots until it is enabled, and keeps its place. Once this has returned, no slot
    /// of it becomes ready (C4). Returns true if there is such a schedule.
    ///
    /// # Errors
    ///
    /// Errors of the backend. After an error the change may have begun; a scheduler completes it, and the call can be
    /// repeated.
    pub async fn disable(&self, name: &str) -> Result<bool> {
        self.set(name, State::Disabled).await
    }

    /// Enables a schedule again. Its next slot is the first one to come; those that passed meanwhile are not missed.
    /// Returns true if there is such a schedule.
    ///
    /// # Errors
    ///
    /// The errors of [`disable`](Self::disable).
    pub async fn enable(&self, name: &str) -> Result<bool> {
        self.set(name, State::Enabled).await
    }

    /// Removes a schedule. Once this has returned, no slot of it becomes ready (C4). Schedulers that have added it go
    /// on without it; the next one that adds it makes it again. Returns true if there was such a schedule.
    ///
    /// # Errors
    ///
    /// The errors of [`disable`](Self::disable).
    pub async fn remove(&self, name: &str) -> Result<bool> {
        self.set(name, State::Removed).await
    }

    /// Asks for a run at once, beside the slots. A scheduler that has added the schedule pushes its message within its
    /// [poll interval](crate::Scheduler::poll), also while the schedule is disabled. Returns true if there is such a
    /// schedule.
    ///
    /// # Errors
    ///
    /// Errors of the backend.
    pub async fn run_now(&self, name: &str) -> Result<bool> {
        let now = self.backend.now().await?.as_millis();
        loop {
            let Some(read) = self.find(name).await? else {
                return Ok(false);
            };
            let mut record = read.record.clone();
            if !record.asked.contains(&now) {
                record.asked.push(now);
            }
            if self.register.write(name, Some(&read), &record).await? {
                return Ok(true);
            }
        }
    }

    async fn set(&self, name: &str, state: State) -> Result<bool> {
        loop {
            let Some(read) = self.find(name).await? else {
                return Ok(false);
            };
            let definition = read.record.definition.clone();
            if self
                .change(name, read, Change { definition, state })
                .await?
            {
                return Ok(true);
            }
        }
    }

    /// The schedule, unless it was removed.
    async fn find(&self, name: &str) -> Result<Option<Versioned>> {
        let read = self.register.read().await?.remove(name);
        Ok(read.filter(|read| read.record.state != State::Removed || read.record.change.is_some()))
    }

    /// Stores a schedule if there is none, and returns whether its definition is the stored one.
    pub(crate) async fn define(
        &self,
        name: &str,
        definition: &Definition,
    ) -> Result<Result<(), Definition>> {
        loop {
            let mut stored = self.register.read().await?;
            let Some(read) = stored.remove(name) else {
                let now = self.backend.now().await?;
                let record = Record::new(definition.clone(), now);
                if self.register.write(name, None, &record).await? {
                    return Ok(Ok(()));
                }
                continue;
            };
            let (present, state) = match &read.record.change {
                Some(change) => (&change.definition, change.state),
                None => (&read.record.definition, read.record.state),
            };
            match state {
                State::Removed => {
                    let change = Change {
                        definition: definition.clone(),
                        state: State::Enabled,
                    };
                    if self.change(name, read, change).await? {
                        return Ok(Ok(()));
                    }
                }
                _ if present == definition => return Ok(Ok(())),
                _ => return Ok(Err(present.clone())),
            }
        }
    }

    /// Replaces the definition of a schedule, whatever it is.
    pub(crate) async fn redefine(&self, name: &str, definition: &Definition) -> Result<()> {
        while let Err(_other) = self.define(name, definition).await? {
            let Some(read) = self.find(name).await? else {
                continue;
            };
            let change = Change {
                definition: definition.clone(),
                state: read.record.state,
            };
            if self.change(name, read, change).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Begins a change and completes it. Returns false if another writer was first.
    async fn change(&self, name: &str, read: Versioned, change: Change) -> Result<bool> {
        if read.record.change.is_some() {
            self.complete(name, read).await?;
            return Ok(false);
        }
        let mut record = read.record.clone();
        record.change = Some(change.clone());
        if !self.register.write(name, Some(&read), &record).await? {
            return Ok(false);
        }
        // Others may complete it first, and change it again.
        let wanted = |read: &Versioned| read.record.change.as_ref() == Some(&change);
        let begun = self.register.read().await?.remove(name);
        if let Some(begun) = begun.filter(wanted) {
            self.complete(name, begun).await?;
        }
        Ok(true)
    }

    /// Completes a change that has begun. No scheduler has claimed a slot since. So the claimed slots, and the slot that
    /// was pushed ahead, are all slots that have to go (C4).
    pub(crate) async fn complete(&self, name: &str, read: Versioned) -> Result<()> {
        let record = &read.record;
        let Some(change) = &record.change else {
            return Ok(());
        };
        let now = self.backend.now().await?;
        let ahead = ClaimedSlot {
            at: record.done,
            asked: false,
        };
        let ahead = (record.done > now.as_millis()).then_some(ahead);
        planted!(ChangeLeavesTheNextSlot => ahead = None);
        let claims = &record.claims;
        planted!(ChangeLeavesTheClaimed => claims = &Vec::new());
        let old: Vec<ClaimedSlot> = claims.iter().copied().chain(ahead).collect();
        if !old.is_empty() {
            let queue = QueueName::new(&*record.definition.queue)?;
            // A queue that was removed has taken its slots along.
            if let Some(target) = Target::find(&*self.backend, &queue).await? {
                for slot in old {
                    target.void(record.key(&self.name, name, slot), now).await?;
                }
            }
        }
        let changed = Record {
            definition: change.definition.clone(),
            state: change.state,
            epoch: record.epoch + 1,
            done: now.as_millis(),
            claims: Vec::new(),
            asked: record.asked.clone(),
            last: record
                .last
                .filter(|_| record.definition.queue == change.definition.queue),
            change: None,
        };
        // If another was first, it has completed the same change.
        self.register
            .write(name, Some(&read), &changed)
            .await
            .map(drop)
    }

    pub(crate) fn mismatch(&self, name: &str, stored: &Definition, given: &Definition) -> Error {
        let message = format!(
            "the schedule `{name}` is stored as [{}], and this program has [{}]: change one of them, or replace the \
             stored one by `change_job`",
            stored.text(),
            given.text()
        );
        let error = Error::new(ErrorKind::ConfigMismatch, message);
        match QueueName::new(&*self.name) {
            Ok(ring) => error.with_queue(&ring),
            Err(_) => error,
        }
    }
}
