//! The journal: what happened, in order. Answers wait until it is durable.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use queue_core::{Error, ErrorKind, Outcome, Result, Timestamp};
use tokio::sync::watch;

use crate::{
    log::{Log, Pending, size},
    sync_times::SyncTimes,
    url::SyncMode,
};

/// How often the writer tries to get room from a full disk.
const RETRY: Duration = Duration::from_secs(1);

/// The threads that write records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    Thread,
    /// Each caller its own record.
    Callers,
    /// Each caller, after others had the time to add their records.
    GatheringCallers,
}

/// The records that are to be written, and how far the writer is.
#[derive(Debug)]
pub(crate) struct Journal {
    sync: SyncMode,
    /// Whether callers write, in place of a thread.
    is_inline: bool,
    /// Whether a caller that writes lets others add their records first.
    gathers: bool,
    /// The name of the disk, for errors.
    name: String,
    gathering: Mutex<Gathering>,
    /// There are records to write.
    gathered: Condvar,
    /// A group was written.
    written: Condvar,
    /// The bytes that may wait to be written: one record may go beyond. And the part of the last segment that a full disk
    /// leaves to stored states, which make room again.
    quarter: u64,
    /// The length of a segment.
    segment: u64,
    pub(crate) sync_times: Arc<SyncTimes>,
    /// Locked before `gathering`.
    log: Mutex<Log>,
    progress: watch::Sender<Progress>,
}

#[derive(Debug)]
struct Gathering {
    pending: Vec<Pending>,
    /// The bytes that are pending, or were promised to calls.
    bytes: u64,
    /// The number of the next record.
    next: u64,
    /// While the disk is full: the bytes that are left, beside `bytes`.
    left: Option<u64>,
    is_closed: bool,
    /// Somebody waits for room.
    wants_room: bool,
    /// A segment was begun since the last look.
    has_begun: bool,
    wants_sync: bool,
}

#[derive(Debug, Clone, Default)]
struct Progress {
    /// Answers up to this record may go.
    done: u64,
    durable: u64,
    failed: Option<Arc<str>>,
}

/// A full disk has no room for a record.
struct DiskFull;

/// Room for a record, which is given back unless the record is written.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    journal: &'a Journal,
    bytes: u64,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let mut gathering = self.journal.gathering();
            gathering.bytes -= self.bytes;
            if let Some(left) = &mut gathering.left {
                *left += self.bytes;
            }
            if std::mem::take(&mut gathering.wants_room) {
                self.journal.publish(gathering, |_| {});
            }
        }
    }
}

impl Journal {
    pub(crate) fn new(log: Log, name: String, sync: SyncMode, writer: Writer) -> Self {
        let done = log.next - 1;
        let journal = Self {
            sync,
            is_inline: writer != Writer::Thread,
            gathers: writer == Writer::GatheringCallers,
            name,
            gathering: Mutex::new(Gathering {
                pending: Vec::new(),
                bytes: 0,
                next: log.next,
                left: None,
                wants_room: false,
                is_closed: false,
                has_begun: false,
                wants_sync: false,
            }),
            gathered: Condvar::new(),
            written: Condvar::new(),
            quarter: log.segment / 4,
            segment: log.segment,
            sync_times: Arc::clone(&log.sync_times),
            log: Mutex::new(log),
            progress: watch::Sender::new(Progress {
                done,
                durable: done,
                failed: None,
            }),
        };
        journal.reserve(&mut journal.log());
        journal
    }

    fn gathering(&self) -> MutexGuard<'_, Gathering> {
        // No code panics while it holds the lock.
        self.gathering
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn is_inline(&self) -> bool {
        self.is_inline
    }

    pub(crate) const fn syncs(&self) -> SyncMode {
        self.sync
    }

    /// Why no call can take effect any more, or `None`.
    pub(crate) fn failure(&self) -> Option<String> {
        let progress = self.progress.borrow();
        progress.failed.as_deref().map(str::to_owned)
    }

    /// While the disk is full: the bytes that are left.
    pub(crate) fn left(&self) -> Option<u64> {
        self.gathering().left
    }

    /// While the disk is full: the room without which pushes are refused. Else 0.
    pub(crate) fn needed(&self) -> u64 {
        self.left().map_or(0, |_| self.segment)
    }

    /// Fails if the journal has failed.
    pub(crate) fn check(&self) -> Result<()> {
        match self.failure() {
            None => Ok(()),
            Some(why) => Err(Error::new(ErrorKind::Unavailable, why)
                .with_outcome(Outcome::NotApplied)
                .with_transient(false)),
        }
    }

    fn full(&self) -> Error {
        let message = format!(
            "the disk of {} is full: pushes are refused until there is room again",
            self.name
        );
        Error::new(ErrorKind::OutOfMemory, message).with_outcome(Outcome::NotApplied)
    }

    /// Waits for room for a record with this content. `adds` says whether it makes the queues longer, which a full disk
    /// refuses.
    pub(crate) async fn room(&self, content: usize, adds: bool) -> Result<Room<'_>> {
        let bytes = size(content);
        let keeps = if adds { u64::MAX } else { self.quarter };
        loop {
            self.check()?;
            let mut moves = {
                let mut gathering = self.gathering();
                let room = self.take_room(&mut gathering, bytes, keeps);
                if let Some(room) = room.map_err(|_full| self.full())? {
                    return Ok(room);
                }
                self.progress.subscribe()
            };
            match self.is_inline {
                true => self.commit(),
                false => drop(moves.changed().await),
            }
        }
    }

    /// [`room`](Self::room) for a stored state, on a thread. `None` if there is none, or the journal is closed.
    pub(crate) fn room_of_state(&self, content: usize) -> Option<Room<'_>> {
        let bytes = size(content);
        let mut gathering = self.gathering();
        loop {
            if self.failure().is_some() || gathering.is_closed {
                return None;
            }
            if let Some(room) = self.take_room(&mut gathering, bytes, 0).ok()? {
                return Some(room);
            }
            gathering = self.wait(gathering);
        }
    }

    /// Takes room, or notes that somebody waits for it. A full disk has to keep `keeps` bytes.
    fn take_room(
        &self,
        gathering: &mut Gathering,
        bytes: u64,
        keeps: u64,
    ) -> std::result::Result<Option<Room<'_>>, DiskFull> {
        match &mut gathering.left {
            Some(left) => {
                let rest = left.checked_sub(bytes).filter(|rest| *rest >= keeps);
                *left = rest.ok_or(DiskFull)?;
            }
            None if gathering.bytes > 0 && gathering.bytes + bytes > self.quarter => {
                gathering.wants_room = true;
                return Ok(None);
            }
            None => {}
        }
        gathering.bytes += bytes;
        Ok(Some(Room {
            journal: self,
            bytes,
        }))
    }

    /// Waits until a group is written.
    fn wait<'a>(&'a self, gathering: MutexGuard<'a, Gathering>) -> MutexGuard<'a, Gathering> {
        if self.is_inline {
            drop(gathering);
            self.commit();
            return self.gathering();
        }
        let waited = self.written.wait(gathering);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record, and returns its number.
    pub(crate) fn append(&self, mut room: Room<'_>, time: Timestamp, content: Vec<u8>) -> u64 {
        debug_assert!(size(content.len()) <= room.bytes);
        let mut gathering = self.gathering();
        // The room may be larger than the record.
        let rest = std::mem::take(&mut room.bytes) - size(content.len());
        gathering.bytes -= rest;
        if let Some(left) = &mut gathering.left {
            *left += rest;
        }
        let number = gathering.next;
        gathering.next += 1;
        gathering.pending.push(Pending { time, content });
        drop(gathering);
        self.gathered.notify_one();
        number
    }

    /// Waits until the record of this number is durable, or written if the journal is not synced at each call.
    pub(crate) async fn done(&self, number: u64) -> Result<()> {
        let is_done = || self.progress.borrow().done >= number;
        if !is_done() && self.is_inline {
            if self.gathers {
                yield_now().await;
            }
            self.commit();
        }
        if is_done() {
            return Ok(());
        }
        let mut moves = self.progress.subscribe();
        let progress =
            moves.wait_for(|progress| progress.done >= number || progress.failed.is_some());
        let failed = match progress.await {
            Ok(progress) if progress.done >= number => return Ok(()),
            Ok(progress) => progress.failed.as_deref().unwrap_or_default().to_owned(),
            // `self` has the sender.
            Err(_) => String::new(),
        };
        Err(Error::new(ErrorKind::Unavailable, failed)
            .with_outcome(Outcome::Unknown)
            .with_transient(false))
    }

    /// [`done`](Self::done), on a thread. Returns false if the journal has failed or is closed.
    pub(crate) fn done_on_thread(&self, number: u64) -> bool {
        let mut gathering = self.gathering();
        loop {
            if self.progress.borrow().done >= number {
                return true;
            }
            if self.failure().is_some() || (gathering.is_closed && gathering.pending.is_empty()) {
                return false;
            }
            gathering = self.wait(gathering);
        }
    }

    /// Waits until all records up to now are on the disk. Returns false after an error.
    pub(crate) async fn synced(&self) -> bool {
        let last = {
            let mut gathering = self.gathering();
            gathering.wants_sync = true;
            gathering.next - 1
        };
        self.gathered.notify_one();
        if self.is_inline {
            self.commit();
        }
        let mut moves = self.progress.subscribe();
        let progress =
            moves.wait_for(|progress| progress.durable >= last || progress.failed.is_some());
        progress
            .await
            .is_ok_and(|progress| progress.durable >= last)
    }

    /// The number of the next record.
    pub(crate) fn next(&self) -> u64 {
        self.gathering().next
    }

    /// Whether a segment was begun since the last call of this.
    pub(crate) fn has_begun_segment(&self) -> bool {
        std::mem::take(&mut self.gathering().has_begun)
    }

    /// Writes all pending records, and makes them durable as the setting says.
    pub(crate) fn commit(&self) {
        let mut log = self.log();
        let (pending, wants_sync) = {
            let mut gathering = self.gathering();
            let pending = std::mem::take(&mut gathering.pending);
            (pending, std::mem::take(&mut gathering.wants_sync))
        };
        if self.failure().is_some() {
            return;
        }
        planted!(AnswersBeforeTheSync => {
            let done = log.next - 1 + pending.len() as u64;
            self.publish(self.gathering(), |progress| progress.done = done);
        });
        let synced = wants_sync || matches!(self.sync, SyncMode::Always);
        let written = log.write(&pending).and_then(|has_begun| {
            if synced {
                log.sync()?;
            }
            Ok(has_begun)
        });
        planted!(FailedSyncIsRetried => written = written.or_else(|_| log.sync().map(|()| false)));
        match written {
            Ok(has_begun) => {
                let bytes: u64 = pending
                    .iter()
                    .map(|record| size(record.content.len()))
                    .sum();
                let mut gathering = self.gathering();
                gathering.bytes -= bytes;
                gathering.has_begun |= has_begun;
                let (done, durable) = (log.next - 1, log.durable);
                self.publish(gathering, |progress| {
                    (progress.done, progress.durable) = (done, durable);
                });
                self.reserve(&mut log);
            }
            Err(error) => self.fail("cannot be written", &error),
        }
    }

    /// Makes all written records durable, on a thread. Returns false after an error.
    pub(crate) fn sync_now(&self) -> bool {
        let synced = self.log().sync();
        if let Err(error) = &synced {
            self.fail("cannot be written", error);
        }
        synced.is_ok()
    }

    /// Takes the room of the next segment from the disk, and notes whether the disk is full.
    fn reserve(&self, log: &mut Log) {
        if log.has_spare() {
            return;
        }
        match log.reserve() {
            Ok(has_room) => {
                let mut gathering = self.gathering();
                gathering.left = match (has_room, gathering.left) {
                    (true, _) => None,
                    (false, None) => Some(log.left().saturating_sub(gathering.bytes)),
                    (false, left) => left,
                };
                self.publish(gathering, |_| {});
            }
            Err(error) => self.fail("gives no room", &error),
        }
    }

    fn fail(&self, what: &str, error: &io::Error) {
        let why = format!(
            "{} {what} ({error}): what is not known to be durable has an unknown outcome. Open the queues again",
            self.name
        );
        self.publish(self.gathering(), |progress| {
            progress.failed.get_or_insert_with(|| why.into());
        });
    }

    /// Changes the progress, and wakes all who wait for it.
    fn publish(&self, gathering: MutexGuard<'_, Gathering>, change: impl FnOnce(&mut Progress)) {
        self.progress.send_modify(change);
        // Whoever waits on a thread has looked at the progress under this lock.
        drop(gathering);
        self.written.notify_all();
    }

    /// The writer's thread: writes groups until the journal is closed.
    pub(crate) fn write_groups(&self, mut after: impl FnMut()) {
        let mut synced = Instant::now();
        loop {
            let mut gathering = self.gathering();
            loop {
                let is_due = match self.sync {
                    SyncMode::Every(time) => synced.elapsed() >= time && self.is_dirty(),
                    SyncMode::Always | SyncMode::Never => false,
                };
                gathering.wants_sync |= is_due || gathering.is_closed;
                if !gathering.pending.is_empty() || gathering.wants_sync {
                    break;
                }
                let pause = match self.sync {
                    SyncMode::Every(time) if self.is_dirty() => {
                        time.saturating_sub(synced.elapsed())
                    }
                    _ if gathering.left.is_some() => RETRY,
                    _ => Duration::MAX,
                };
                let waited = self.gathered.wait_timeout(gathering, pause);
                let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                gathering = woken;
                if timeout.timed_out() && gathering.left.is_some() {
                    break;
                }
            }
            let is_closed = gathering.is_closed;
            let syncs = gathering.wants_sync;
            drop(gathering);
            self.commit();
            after();
            if syncs {
                synced = Instant::now();
            }
            if is_closed {
                return;
            }
        }
    }

    fn is_dirty(&self) -> bool {
        let progress = self.progress.borrow();
        progress.failed.is_none() && progress.durable < progress.done
    }

    /// Ends the writer's thread, which writes what is pending first.
    pub(crate) fn close(&self) {
        let mut gathering = self.gathering();
        gathering.is_closed = true;
        drop(gathering);
        self.gathered.notify_all();
        self.written.notify_all();
        if self.is_inline {
            self.gathering().wants_sync = true;
            self.commit();
        }
    }
}

/// Lets other tasks run once.
async fn yield_now() {
    let mut has_yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut has_yielded, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
