//! The stored schedules, for schedulers and operators.

use std::sync::Arc;

use queue_core::{
    AnyQueue, Backend, Error, ErrorKind, Outcome, QueueName, Queues, Result, RotatingConfig,
    RotatingQueue, StoredQueue, Timestamp,
};

use super::{
    Periodic,
    calendar::Calendar,
    record::{Change, ClaimedSlot, Definition, Record, State},
    register::{Register, Versioned, View, Written, unsure},
    target::{Target, Voided},
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
    /// The program's rule, if an operator has set another one.
    pub program_rule: Option<String>,
    /// The queue that its messages go to.
    pub queue: String,
    /// Whether a slot is skipped while the message of the last one is there.
    pub unless_running: bool,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The next slot; none while it is disabled.
    pub next: Option<Timestamp>,
    /// The first slot that is over, and that no scheduler has pushed or skipped yet. Schedulers look every few seconds.
    pub overdue: Option<Timestamp>,
    /// The reason why its stored record or its rule cannot be read. The other fields then have the readable parts. A later
    /// version may have written the record, or it is damaged.
    pub problem: Option<String>,
}

impl Schedules {
    /// Opens the schedules of this name, creating their ring if it does not exist.
    ///
    /// A ring is not divided into partitions. So open the schedules once on the backend itself before you open them on a
    /// [`Partitioned`](queue_core::Partitioned) one, which finds their ring then.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name. `ConfigMismatch` if the name is that of a queue of another kind. `Configuration` if the
    /// backend has no rings, divides its queues and has not got the ring yet, or does not tell its time. Errors of the
    /// backend.
    pub async fn open(queues: &Queues, name: &str) -> Result<Self> {
        let backend = Arc::clone(queues.backend());
        let ring = ring(&*backend, &QueueName::new(name)?).await?;
        backend.now().await?;
        Ok(Self {
            backend,
            register: Register::new(ring),
            name: name.into(),
        })
    }

    /// All schedules, by name. An unreadable schedule is listed with its [problem](ScheduleInfo::problem).
    ///
    /// # Errors
    ///
    /// Errors of the backend.
    pub async fn list(&self) -> Result<Vec<ScheduleInfo>> {
        let now = self.backend.now().await?;
        let records = self.register.read().await?.into_iter();
        let listed = records.filter_map(|(name, read)| info(name, read, now));
        let listed: Result<Vec<ScheduleInfo>> = Ok(listed.collect());
        planted!(OneBadRuleEndsTheListing => listed = listed.and_then(without_problems));
        listed
    }

    /// Disables a schedule: it has no slots until it is enabled, and keeps its place. Once this has returned, no slot
    /// of it becomes ready (C4). Returns true if there is such a schedule. Of a record that cannot be read, this keeps what
    /// can be read.
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
    /// The errors of [`disable`](Self::disable), and `Codec` if its record cannot be read.
    pub async fn enable(&self, name: &str) -> Result<bool> {
        self.set(name, State::Enabled).await
    }

    /// Removes a schedule. Once this has returned, no slot of it becomes ready (C4). Schedulers that have added it go
    /// on without it; the next one that adds it makes it again. Returns true if there was such a schedule. Of a record
    /// that cannot be read, the slot that was pushed ahead is taken away only if its time can be read.
    ///
    /// # Errors
    ///
    /// The errors of [`disable`](Self::disable).
    pub async fn remove(&self, name: &str) -> Result<bool> {
        self.set(name, State::Removed).await
    }

    /// Asks for a run at once, beside the slots. A scheduler that has added the schedule pushes its message within its
    /// [poll interval](crate::Scheduler::poll), also while the schedule is disabled. Returns true if there is such a
    /// schedule: then the run comes once, by the definition that is stored when it comes, unless the schedule is removed
    /// before.
    ///
    /// # Errors
    ///
    /// `Codec` if the schedule's record cannot be read. Errors of the backend: after one of unknown outcome, the run may
    /// come.
    pub async fn run_now(&self, name: &str) -> Result<bool> {
        let now = self.backend.now().await?.as_millis();
        let mut view = View::default();
        loop {
            let Some(read) = self.find(&mut view, name).await? else {
                return Ok(false);
            };
            let mut record = read.record.clone()?;
            let at = now.max(record.last_asked + 1);
            planted!(RunsShareAKey => at = now);
            record.last_asked = at;
            record.asked.push(at);
            let register = &self.register;
            match register
                .write(&mut view, name, Some(&read), &record)
                .await?
            {
                Written::Own => return Ok(true),
                // It may be the record of another call, which has asked for its own run.
                Written::Perhaps => return Err(unsure(name)),
                Written::No => {}
            }
        }
    }

    /// Gives the schedule of this name this rule, in place of its program's. Once this has returned, no slot of the old
    /// rule becomes ready (C4). Returns true if there is such a schedule. Its queue, its messages, and what happens with
    /// missed slots stay the program's.
    ///
    /// The rule stays until another edit, and also when the program starts again; it ends when the program gives the
    /// schedule another definition ([`change_job`](crate::Scheduler::change_job)). An edit to the program's own rule ends
    /// it, too. Schedulers of a version without edits report that they cannot read the schedule, and leave it alone.
    ///
    /// # Errors
    ///
    /// The errors of [`disable`](Self::disable), and `Codec` if its record cannot be read.
    pub async fn edit(&self, rule: &Periodic) -> Result<bool> {
        let mut view = View::default();
        // An edit that was perhaps written leaves nothing to change.
        loop {
            let Some(read) = self.find(&mut view, &rule.name).await? else {
                return Ok(false);
            };
            let record = read.record.clone()?;
            let mut definition = record.definition.clone();
            definition.edited = (rule.rule != definition.rule).then(|| rule.rule.clone());
            if definition == record.definition {
                return Ok(true);
            }
            let state = record.state;
            let change = Change { definition, state };
            let changed = self.change(&mut view, &rule.name, &read, record, change);
            if changed.await? == Written::Own {
                return Ok(true);
            }
        }
    }

    async fn set(&self, name: &str, state: State) -> Result<bool> {
        // A removal that was perhaps written leaves nothing to find.
        let mut was_there = false;
        let mut view = View::default();
        loop {
            let Some(read) = self.find(&mut view, name).await? else {
                return Ok(was_there);
            };
            let refused = state == State::Enabled;
            planted!(UnreadableStays => refused = true);
            let record = match read.record.clone() {
                Err(error) if refused => return Err(error),
                Err(_) => Record::salvage(&read.body, self.backend.now().await?),
                Ok(record) => record,
            };
            let definition = record.definition.clone();
            let change = Change { definition, state };
            let changed = self.change(&mut view, name, &read, record, change);
            match changed.await? {
                Written::Own => return Ok(true),
                Written::Perhaps => was_there = true,
                Written::No => {}
            }
        }
    }

    /// The record of this name. Completes a change of it that has begun.
    async fn current(&self, view: &mut View, name: &str) -> Result<Option<Versioned>> {
        loop {
            view.catch_up(&self.register).await?;
            match view.records().get(name).cloned() {
                Some(read) if read.is_changing() => self.complete(name, &read).await?,
                read => return Ok(read),
            }
        }
    }

    /// The schedule, unless it was removed.
    async fn find(&self, view: &mut View, name: &str) -> Result<Option<Versioned>> {
        let is_removed = |record: &Record| record.state == State::Removed;
        let read = self.current(view, name).await?;
        Ok(read.filter(|read| !read.record.as_ref().is_ok_and(is_removed)))
    }

    /// Stores a schedule if there is none, and returns whether its definition is the stored one.
    pub(crate) async fn define(
        &self,
        view: &mut View,
        name: &str,
        definition: &Definition,
    ) -> Result<Result<(), Definition>> {
        loop {
            let Some(read) = self.current(view, name).await? else {
                let now = self.backend.now().await?;
                let record = Record::new(definition.clone(), now);
                let written = self.register.write(view, name, None, &record);
                if written.await? == Written::Own {
                    return Ok(Ok(()));
                }
                continue;
            };
            let record = read.record.clone()?;
            if record.state == State::Removed {
                let change = Change {
                    definition: definition.clone(),
                    state: State::Enabled,
                };
                let changed = self.change(view, name, &read, record, change);
                if changed.await? == Written::Own {
                    return Ok(Ok(()));
                }
            } else if record.definition.is_of_program(definition) {
                return Ok(Ok(()));
            } else {
                return Ok(Err(record.definition));
            }
        }
    }

    /// Replaces the definition of a schedule, whatever it is.
    pub(crate) async fn redefine(
        &self,
        view: &mut View,
        name: &str,
        definition: &Definition,
    ) -> Result<()> {
        loop {
            let read = self.find(view, name).await?;
            let (read, record, state) = match read.map(|read| (read.record.clone(), read)) {
                None => match self.define(view, name, definition).await? {
                    Ok(()) => return Ok(()),
                    Err(_other) => continue,
                },
                Some((Ok(record), _)) if record.definition.is_of_program(definition) => {
                    return Ok(());
                }
                Some((Ok(record), read)) => (read, record.clone(), record.state),
                Some((Err(_), read)) => {
                    let record = Record::salvage(&read.body, self.backend.now().await?);
                    (read, record, State::Enabled)
                }
            };
            let change = Change {
                definition: definition.clone(),
                state,
            };
            let changed = self.change(view, name, &read, record, change);
            if changed.await? == Written::Own {
                return Ok(());
            }
        }
    }

    /// Begins a change of this record and completes it. A change that was perhaps written can be repeated.
    async fn change(
        &self,
        view: &mut View,
        name: &str,
        read: &Versioned,
        mut record: Record,
        change: Change,
    ) -> Result<Written> {
        record.change = Some(change);
        let written = self.register.write(view, name, Some(read), &record);
        let written = written.await?;
        if written != Written::Own {
            return Ok(written);
        }
        // Others may complete it first.
        let completed = self.current(view, name).await;
        completed.map_err(|error| error.with_outcome(Outcome::Unknown))?;
        Ok(Written::Own)
    }

    /// Completes a change that has begun. No scheduler has claimed a slot since. So the claimed slots, and the slot that
    /// was pushed ahead, are all slots that have to go (C4). A run that was asked for, and was not pushed, is asked for
    /// again.
    pub(crate) async fn complete(&self, name: &str, read: &Versioned) -> Result<()> {
        let record = read.record.clone()?;
        let Some(change) = record.change.clone() else {
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
        // A queue that was removed has taken its slots along; a name that cannot be read never had any.
        let target = match QueueName::new(&*record.definition.queue) {
            Ok(queue) if !old.is_empty() => Target::find(&self.backend, &queue).await?,
            _ => None,
        };
        let mut asked = Vec::new();
        let mut last = record.last;
        let mut markers = Vec::new();
        for slot in old {
            let voided = match &target {
                Some(target) => {
                    let key = record.key(&self.name, name, slot);
                    target.void(key, slot, now).await?
                }
                None => Voided::Nothing,
            };
            match voided {
                Voided::Pushed(id) if record.definition.unless_running => last = Some(id),
                Voided::Marked(marker) => markers.push(marker),
                Voided::Pushed(_) | Voided::Nothing => {}
            }
            let was_pushed = matches!(voided, Voided::Pushed(_));
            planted!(ChangeRepeatsRuns => was_pushed = false);
            if slot.asked && !was_pushed {
                asked.push(slot.at);
            }
        }
        planted!(ChangeLosesRuns => asked = Vec::new());
        let asked = match change.state {
            State::Removed => Vec::new(),
            _ => asked.into_iter().chain(record.asked).collect(),
        };
        let changed = Record {
            state: change.state,
            epoch: record.epoch + 1,
            done: now.as_millis(),
            claims: Vec::new(),
            asked,
            last_asked: record.last_asked,
            last: last.filter(|_| record.definition.queue == change.definition.queue),
            definition: change.definition,
            change: None,
        };
        // If another was first, it has completed the same change.
        let view = &mut View::default();
        self.register
            .write(view, name, Some(read), &changed)
            .await?;
        // Until here they have shown to others, who complete the same change, that the runs were not pushed.
        if let Some(target) = &target {
            target.cancel(&markers).await;
        }
        Ok(())
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

/// The ring of the schedules.
async fn ring(backend: &dyn Backend, name: &QueueName) -> Result<Arc<dyn RotatingQueue>> {
    let opened = backend
        .open_rotating(name, &RotatingConfig::default())
        .await;
    match opened {
        // A backend that divides its queues opens an undivided one that exists.
        Err(error) if error.kind() == ErrorKind::Configuration => {
            match backend.open_stored(name).await? {
                Some(StoredQueue {
                    queue: AnyQueue::Rotating(ring),
                    ..
                }) => Ok(ring),
                _ => Err(error),
            }
        }
        opened => opened,
    }
}

#[cfg(feature = "planted")]
fn without_problems(listed: Vec<ScheduleInfo>) -> Result<Vec<ScheduleInfo>> {
    let problem = listed.iter().find_map(|one| one.problem.clone());
    problem.map_or(Ok(listed), |problem| Err(Error::invalid(problem)))
}

/// A record as operators read it; none if its schedule was removed.
fn info(name: String, read: Versioned, now: Timestamp) -> Option<ScheduleInfo> {
    let (record, problem) = match read.record {
        Ok(record) => (record, None),
        Err(error) => (Record::salvage(&read.body, now), Some(error)),
    };
    let (definition, state) = match record.change {
        Some(Change { definition, state }) => (definition, state),
        None => (record.definition, record.state),
    };
    if state == State::Removed {
        return None;
    }
    let enabled = state == State::Enabled;
    // The slot that was pushed ahead, or the next one.
    let done = Timestamp::from_millis(record.done);
    let calendar = Calendar::of(definition.present_rule());
    let next = match &calendar {
        _ if !enabled => None,
        _ if done > now => Some(done),
        Ok(calendar) => calendar.after(now),
        Err(_) => None,
    };
    let overdue = match &calendar {
        Ok(calendar) if enabled => calendar.after(done).filter(|slot| *slot <= now),
        _ => None,
    };
    Some(ScheduleInfo {
        overdue,
        name,
        rule: definition.present_rule().text(),
        program_rule: definition.edited.is_some().then(|| definition.rule.text()),
        queue: definition.queue,
        unless_running: definition.unless_running,
        enabled,
        next,
        problem: problem
            .or(calendar.err())
            .map(|problem| problem.to_string()),
    })
}
