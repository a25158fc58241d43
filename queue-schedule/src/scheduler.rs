//! The loop that pushes the slots of the schedules that a program has.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::{Future, poll_fn},
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use futures_util::{
    future::{BoxFuture, FutureExt},
    stream::{self, StreamExt},
};
use queue_core::{Error, ErrorKind, Job, Json, MessageId, Push, Result, Timestamp, limits};
use serde::Serialize;

use super::{
    Missed, Periodic, Schedules, Slot,
    calendar::{Calendar, Rule},
    record::{ClaimedSlot, Definition, Record, State},
    register::{Versioned, View, Write},
    target::Target,
};

/// How far ahead of its time a slot is pushed.
const AHEAD: Duration = Duration::from_secs(24 * 60 * 60);
/// A slot that is later than this is a missed one, of a schedule whose slots are not pushed ahead.
const LATE: u64 = 60_000;
/// The pause after an error.
const PAUSE: Duration = Duration::from_secs(1);
/// How many schedules take their steps at a time.
const AT_ONCE: usize = 128;
/// The most runs that operators asked for, in one step.
const MOST_ASKED: usize = 16;

type Make = Arc<dyn Fn(&Slot) -> Result<Push> + Send + Sync>;
type OnError = Arc<dyn Fn(&str, &Error) + Send + Sync>;

/// Pushes the slots of its schedules, beside any number of schedulers in other processes.
///
/// It does nothing before [`run_until`](Self::run_until). A program runs it beside its workers:
/// `tokio::join!(scheduler.run_until(…), worker.run_until(…))`.
#[must_use = "it does nothing until it is run"]
pub struct Scheduler {
    schedules: Schedules,
    served: BTreeMap<String, ServedSchedule>,
    /// The records as they were read last.
    view: View,
    poll: Duration,
    on_error: Option<OnError>,
}

/// A schedule that this scheduler serves.
struct ServedSchedule {
    definition: Definition,
    /// The present rule, the program's or an operator's, and its calendar.
    rule: Rule,
    calendar: Calendar,
    make: Make,
    target: Option<Target>,
    /// The errors that were reported since the last step without an error.
    reported: BTreeSet<About>,
}

/// The subject of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    /// A claimed slot.
    Slot(ClaimedSlot),
    /// A version of the record.
    Version(u64),
}

impl Scheduler {
    /// A scheduler without schedules.
    pub fn new(schedules: &Schedules) -> Self {
        Self {
            schedules: schedules.clone(),
            served: BTreeMap::new(),
            view: View::default(),
            poll: Duration::from_secs(5),
            on_error: None,
        }
    }

    /// Sets how often it reads what operators have changed: 5 s by default. A slot is pushed before its time, so this
    /// does not make one late.
    pub const fn poll(mut self, interval: Duration) -> Self {
        self.poll = interval;
        self
    }

    /// Calls `report` with the name of a schedule and an error of it; without a name, with an error of the backend. A
    /// schedule's error is reported once for a slot, and does not concern other schedules.
    ///
    /// `error` names the slot; its source is the cause. [`with_sources`](queue_core::with_sources) shows both.
    ///
    /// A slot whose message cannot be made, whose function panics, or which the queue refuses for its size is given up:
    /// the schedule goes on with the next one. After an outage of the backend, and while the
    /// queue is missing or the record cannot be read, the scheduler tries again each second. The slot comes when the cause
    /// is gone.
    pub fn on_error(mut self, report: impl Fn(&str, &Error) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(report));
        self
    }

    /// Adds a schedule whose slots are jobs of one type, in JSON, on this queue: a reliable, delay or priority queue
    /// that exists. If the schedule is not stored yet, it is stored, and its first slot is the first after now.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch` if the schedule is stored with another definition, naming both. `Invalid` for another kind of
    /// queue, a name that this scheduler has already, and more than 100 missed slots. `Configuration` if there is no
    /// such queue; and errors of the backend.
    pub async fn add_job<J: Job + Serialize + 'static>(
        &mut self,
        periodic: Periodic,
        queue: &str,
        make: impl Fn(&Slot) -> J + Send + Sync + 'static,
    ) -> Result<()> {
        self.add_push(periodic, queue, job(make)).await
    }

    /// As [`add_job`](Self::add_job), and gives a schedule that is stored with another definition this one. From then
    /// on no slot of the old one becomes ready (C4). A program that has the old one goes on without it.
    ///
    /// # Errors
    ///
    /// The errors of [`add_job`](Self::add_job), but for `ConfigMismatch`.
    pub async fn change_job<J: Job + Serialize + 'static>(
        &mut self,
        periodic: Periodic,
        queue: &str,
        make: impl Fn(&Slot) -> J + Send + Sync + 'static,
    ) -> Result<()> {
        self.change_push(periodic, queue, job(make)).await
    }

    /// As [`change_job`](Self::change_job), for messages of any form, as [`add_push`](Self::add_push) takes them.
    ///
    /// # Errors
    ///
    /// The errors of [`change_job`](Self::change_job).
    pub async fn change_push(
        &mut self,
        periodic: Periodic,
        queue: &str,
        make: impl Fn(&Slot) -> Result<Push> + Send + Sync + 'static,
    ) -> Result<()> {
        let definition = self.check(&periodic, queue).await?;
        self.view.forget_after(self.poll);
        let (schedules, view) = (&self.schedules, &mut self.view);
        schedules
            .redefine(view, &periodic.name, &definition)
            .await?;
        self.serve(periodic, definition, Arc::new(make));
        Ok(())
    }

    /// As [`add_job`](Self::add_job), for messages of any form: of a queue without a router, with headers, or in
    /// another codec. A dedup key or a due time of the message is replaced. A time to live counts from the slot; for a
    /// slot that is pushed after its time, from the push.
    ///
    /// # Errors
    ///
    /// The errors of [`add_job`](Self::add_job).
    pub async fn add_push(
        &mut self,
        periodic: Periodic,
        queue: &str,
        make: impl Fn(&Slot) -> Result<Push> + Send + Sync + 'static,
    ) -> Result<()> {
        let definition = self.check(&periodic, queue).await?;
        self.view.forget_after(self.poll);
        let (schedules, view) = (&self.schedules, &mut self.view);
        match schedules.define(view, &periodic.name, &definition).await? {
            Ok(()) => {}
            Err(stored) => {
                return Err(self
                    .schedules
                    .mismatch(&periodic.name, &stored, &definition));
            }
        }
        self.serve(periodic, definition, Arc::new(make));
        Ok(())
    }

    async fn check(&self, periodic: &Periodic, queue: &str) -> Result<Definition> {
        periodic.check()?;
        if self.served.contains_key(&periodic.name) {
            let name = &periodic.name;
            return Err(Error::invalid(format!(
                "two schedules `{name}` in one scheduler: give each its own name"
            )));
        }
        Target::open(&self.schedules.backend, queue).await?;
        Ok(Definition::of(periodic, queue))
    }

    fn serve(&mut self, periodic: Periodic, definition: Definition, make: Make) {
        let served = ServedSchedule {
            definition,
            rule: periodic.rule,
            calendar: periodic.calendar,
            make,
            target: None,
            reported: BTreeSet::new(),
        };
        self.served.insert(periodic.name, served);
    }

    /// Pushes slots until `shutdown` ends. Dropping the future is a crash, and safe: another scheduler goes on.
    ///
    /// # Errors
    ///
    /// `Invalid` for a poll interval below a millisecond. Errors of the backend are reported by
    /// [`on_error`](Self::on_error), and do not end the scheduler.
    pub async fn run_until(mut self, shutdown: impl Future<Output = ()> + Send) -> Result<()> {
        if self.poll < Duration::from_millis(1) {
            return Err(Error::invalid(format!(
                "a poll interval of {:?}: at least 1 ms",
                self.poll
            )));
        }
        let mut shutdown = pin!(shutdown);
        let mut work = pin!(self.work());
        poll_fn(|cx| {
            if shutdown.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            work.as_mut().poll(cx)
        })
        .await;
        Ok(())
    }

    async fn work(&mut self) {
        let mut is_down = false;
        let mut view = mem::take(&mut self.view);
        loop {
            view.forget_after(self.poll);
            let pause = match self.pass(&mut view).await {
                Ok(pause) => {
                    is_down = false;
                    pause
                }
                Err(error) => {
                    if !mem::replace(&mut is_down, true) {
                        report(self.on_error.as_ref(), "", &error);
                    }
                    PAUSE.min(self.poll)
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Does what is to do for each schedule, for many at a time. Returns the time until there may be more.
    ///
    /// # Errors
    ///
    /// Errors of reading the records. An error of one schedule is reported, and concerns no other.
    async fn pass(&mut self, view: &mut View) -> Result<Duration> {
        view.catch_up(&self.schedules.register).await?;
        let now = self.schedules.backend.now().await?;
        let mut pause = self.poll;
        let (mut names, mut writes, mut ended) = (Vec::new(), Vec::new(), Vec::new());
        for (name, step) in self.step_all(view, now).await {
            match step {
                Ok(Step::Write(write)) => {
                    names.push(name);
                    writes.push(write);
                }
                Ok(Step::Wait(time)) => ended.push((name, Ok(time))),
                Err(failed) => ended.push((name, Err(failed))),
            }
        }
        let written = self.schedules.register.write_all(view, writes).await;
        let written = written.into_iter().map(|written| match written {
            Ok(_) => Ok(Some(Duration::ZERO)),
            Err(error) => Err((None, error)),
        });
        ended.extend(names.into_iter().zip(written));
        for (name, ended) in ended {
            let longest = match ended {
                Ok(longest) => longest.unwrap_or(Duration::MAX),
                Err(_) => PAUSE,
            };
            pause = pause.min(longest);
            self.note(&name, view, ended.err());
        }
        Ok(pause)
    }

    /// One step of each schedule.
    async fn step_all(
        &mut self,
        view: &View,
        now: Timestamp,
    ) -> Vec<(String, Result<Step, (Option<ClaimedSlot>, Error)>)> {
        let (schedules, on_error) = (&self.schedules, self.on_error.as_ref());
        let mut steps: Vec<BoxFuture<'_, _>> = Vec::new();
        for (name, served) in &mut self.served {
            let Some(read) = view.records().get(name) else {
                continue;
            };
            let report = move |error: &Error| report(on_error, name, error);
            let step = async move {
                let step = served.step(schedules, name, read, now, &report).await;
                (name.clone(), step)
            };
            steps.push(step.boxed());
        }
        stream::iter(steps).buffered(AT_ONCE).collect().await
    }

    /// Reports the error of a schedule's step, unless it was reported before; or notes that there is none.
    fn note(&mut self, name: &str, view: &View, failed: Option<(Option<ClaimedSlot>, Error)>) {
        let Some(served) = self.served.get_mut(name) else {
            return;
        };
        let Some((about, error)) = failed else {
            return served.reported.clear();
        };
        // The queue may be another one by now.
        served.target = None;
        let version = view.records().get(name).map_or(0, |read| read.version);
        let about = about.map_or(About::Version(version), About::Slot);
        let is_new = served.reported.insert(about);
        planted!(ErrorsAreRepeated => is_new = true);
        if is_new {
            report(self.on_error.as_ref(), name, &error);
        }
    }
}

fn report(on_error: Option<&OnError>, name: &str, error: &Error) {
    if let Some(on_error) = on_error {
        on_error(name, error);
    }
}

/// A record with these slots claimed.
fn claimed(record: &Record, claims: Vec<ClaimedSlot>) -> Record {
    let is_claimed = |at: &u64| claims.iter().any(|slot| slot.asked && slot.at == *at);
    let mut asked = record.asked.clone();
    asked.retain(|at| !is_claimed(at));
    Record {
        asked,
        claims,
        ..record.clone()
    }
}

/// A record whose claimed slots have been pushed, or skipped; `last` is the message of the last one.
fn pushed(record: &Record, last: Option<MessageId>) -> Record {
    let slots = record.claims.iter().filter(|slot| !slot.asked);
    Record {
        done: slots.map(|slot| slot.at).fold(record.done, u64::max),
        claims: Vec::new(),
        last,
        ..record.clone()
    }
}

/// What one step of a schedule leads to.
enum Step {
    /// A version of its record that has to be written.
    Write(Write),
    /// Nothing for this time; for none, nothing until its record changes.
    Wait(Option<Duration>),
}

/// The next step of a schedule.
enum Next {
    /// Claim these slots.
    Claim(Vec<ClaimedSlot>),
    /// Nothing before this time.
    At(Timestamp),
    /// It has no further slot.
    Nothing,
}

impl ServedSchedule {
    /// One step, at this time of the backend.
    ///
    /// # Errors
    ///
    /// An error, with the slot that it is about if it is about one.
    async fn step(
        &mut self,
        schedules: &Schedules,
        name: &str,
        read: &Versioned,
        now: Timestamp,
        report: &(dyn Fn(&Error) + Sync),
    ) -> Result<Step, (Option<ClaimedSlot>, Error)> {
        let of_record = |error| (None, error);
        if read.is_changing() {
            schedules.complete(name, read).await.map_err(of_record)?;
            return Ok(Step::Wait(Some(Duration::ZERO)));
        }
        let record = read
            .record
            .as_ref()
            .map_err(|error| (None, error.clone()))?;
        // Another program has changed or removed it: this one no longer knows how to make its messages.
        let is_own = record.definition.is_of_program(&self.definition);
        if !is_own || record.state == State::Removed {
            return Ok(Step::Wait(None));
        }
        self.follow(record.definition.present_rule())
            .map_err(of_record)?;
        let next = if record.claims.is_empty() {
            match self.next(record, now) {
                Next::Claim(claims) => {
                    let asked = claims.iter().any(|slot| slot.asked);
                    let claimed = claimed(record, claims);
                    let runs = self.is_running(schedules, record);
                    if !asked && runs.await.map_err(of_record)? {
                        pushed(&claimed, record.last)
                    } else {
                        claimed
                    }
                }
                Next::At(time) => {
                    let wait = time.since(now).max(Duration::from_millis(1));
                    return Ok(Step::Wait(Some(wait)));
                }
                Next::Nothing => return Ok(Step::Wait(None)),
            }
        } else {
            let mut last = record.last;
            for claimed in &record.claims {
                let about = |error| (Some(*claimed), error);
                match self.push(schedules, name, record, *claimed).await {
                    Ok(id) => last = Some(id),
                    Err(Failure::Passing(error)) => return Err(about(error)),
                    Err(Failure::OfTheMessage(error)) => {
                        if self.reported.insert(About::Slot(*claimed)) {
                            report(&given_up(*claimed, &error));
                        }
                    }
                }
            }
            pushed(record, last.filter(|_| self.definition.unless_running))
        };
        let write = Write::of(name, Some(read), &next).map_err(of_record)?;
        Ok(Step::Write(write))
    }

    /// Takes the rule that the schedule has at present.
    fn follow(&mut self, rule: &Rule) -> Result<()> {
        if self.rule != *rule {
            self.calendar = Calendar::of(rule)?;
            self.rule = rule.clone();
        }
        Ok(())
    }

    fn next(&self, record: &Record, now: Timestamp) -> Next {
        let asked = record.asked.iter().take(MOST_ASKED);
        let asked: Vec<_> = asked
            .map(|at| ClaimedSlot {
                at: *at,
                asked: true,
            })
            .collect();
        if !asked.is_empty() {
            return Next::Claim(asked);
        }
        if record.state != State::Enabled {
            return Next::Nothing;
        }
        let done = Timestamp::from_millis(record.done);
        if done > now {
            // One slot is pushed ahead; the next one follows when its time has come.
            return Next::At(done);
        }
        let calendar = &self.calendar;
        let unless_running = self.definition.unless_running;
        let policy = self.definition.missed;
        planted!(MissedAreSkipped => policy = Missed::Skip);
        let missed = match policy {
            Missed::Skip if unless_running => {
                let late = Timestamp::from_millis(now.as_millis().saturating_sub(LATE));
                calendar.latest(done.max(late), now, 1)
            }
            Missed::Skip => Vec::new(),
            Missed::RunOnce => calendar.latest(done, now, 1),
            Missed::RunAll(slots) => calendar.latest(done, now, slots as usize),
        };
        if !missed.is_empty() {
            let claimed = |at: Timestamp| ClaimedSlot {
                at: at.as_millis(),
                asked: false,
            };
            return Next::Claim(missed.into_iter().map(claimed).collect());
        }
        let Some(next) = calendar.after(now) else {
            return Next::Nothing;
        };
        if unless_running {
            return Next::At(next);
        }
        if next.since(now) > AHEAD {
            let ahead = u64::try_from(AHEAD.as_millis()).unwrap_or(u64::MAX);
            return Next::At(Timestamp::from_millis(
                next.as_millis().saturating_sub(ahead),
            ));
        }
        Next::Claim(vec![ClaimedSlot {
            at: next.as_millis(),
            asked: false,
        }])
    }

    async fn target(&mut self, schedules: &Schedules) -> Result<Target> {
        if let Some(target) = &self.target {
            return Ok(target.clone());
        }
        let target = Target::open(&schedules.backend, &self.definition.queue).await?;
        Ok(self.target.insert(target).clone())
    }

    /// Whether one may run at a time, and the last one is there.
    async fn is_running(&mut self, schedules: &Schedules, record: &Record) -> Result<bool> {
        let last = record.last.filter(|_| self.definition.unless_running);
        planted!(RunsWhileRunning => last = None);
        match last {
            Some(last) => self.target(schedules).await?.has(last).await,
            None => Ok(false),
        }
    }

    /// Pushes a claimed slot. Returns its message.
    async fn push(
        &mut self,
        schedules: &Schedules,
        name: &str,
        record: &Record,
        claimed: ClaimedSlot,
    ) -> Result<MessageId, Failure> {
        let target = self.target(schedules).await.map_err(Failure::Passing)?;
        let at = Timestamp::from_millis(claimed.at);
        let slot = Slot::new(at, claimed.asked, &self.calendar);
        let made = self.make(&slot).map_err(Failure::OfTheMessage);
        planted!(BadSlotIsKept => made = self.make(&slot).map_err(Failure::Passing));
        let mut push = made?;
        push.headers = push
            .headers
            .with("schedule", name)
            .with("slot", claimed.at.to_string());
        if let Some(time_to_live) = &mut push.time_to_live {
            time_to_live.check(None).map_err(Failure::OfTheMessage)?;
            let now = schedules.backend.now().await.map_err(Failure::Passing)?;
            let ahead = at.since(now);
            planted!(TimeToLiveCountsFromThePush => ahead = Duration::ZERO);
            time_to_live.limit = (time_to_live.limit + ahead).min(limits::MAX_DELAY);
        }
        let key = record.key(&schedules.name, name, claimed);
        let pushed = target.push(push, key, at).await;
        let pushed = pushed.map_err(|error| match error.kind() {
            ErrorKind::Invalid | ErrorKind::Codec => Failure::OfTheMessage(error),
            _ => Failure::Passing(error),
        });
        let unanswered = || Failure::Passing(Error::unanswered());
        pushed?.id().ok_or_else(unanswered)
    }

    /// Makes a slot's message. A panic is an error, because it would end all schedules of the program.
    fn make(&self, slot: &Slot) -> Result<Push> {
        let make = || (self.make)(slot);
        let made = catch_unwind(AssertUnwindSafe(make));
        planted!(PanicEndsTheScheduler => made = Ok(made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
        made.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(|text| &**text));
            let message = format!("making it panicked: {}", text.unwrap_or("without a text"));
            Err(Error::new(ErrorKind::Internal, message))
        })
    }
}

/// Why a slot's message is not pushed.
enum Failure {
    /// Another try may push it.
    Passing(Error),
    /// No try will.
    OfTheMessage(Error),
}

fn given_up(slot: ClaimedSlot, error: &Error) -> Error {
    let message = format!("the slot {} is given up", slot.at);
    Error::new(error.kind(), message).with_source(error.clone())
}

/// Makes a job's message in JSON.
fn job<J: Job + Serialize + 'static>(
    make: impl Fn(&Slot) -> J + Send + Sync + 'static,
) -> impl Fn(&Slot) -> Result<Push> + Send + Sync {
    move |slot| Push::of_job(&make(slot), &Json)
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("schedules", &self.schedules)
            .field("served", &self.served.keys())
            .field("poll", &self.poll)
            .finish_non_exhaustive()
    }
}
