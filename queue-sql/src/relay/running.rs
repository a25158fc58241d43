//! A relay at work.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::{Future, pending, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use queue_core::{Error, Push, Result, limits};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

#[cfg(feature = "planted")]
use super::PlantedBug;
use super::{
    Relay, RelayEvent, RelayReport,
    cursor::Cursor,
    pushing::{Ends, Pauses, Target},
};
use crate::{Listener, OutboxCounts, OutboxRow, Wish, inbox::STEP};

/// The pause between two polls that find nothing: it doubles from the first to the second. With wake-ups it is the second.
const SHORTEST_POLL: Duration = Duration::from_millis(50);
const LONGEST_POLL: Duration = Duration::from_secs(1);

/// The pause after a round that found only rows behind those of another relay.
const BEHIND: Duration = Duration::from_millis(5);

/// How long the wake-up of the self-test may take.
const SELF_TEST: Duration = Duration::from_secs(1);

/// The pause before the next self-test, if the last one failed.
const NEXT_TEST: Duration = Duration::from_secs(60);

/// How often a relay counts the rows.
const COUNT: Duration = Duration::from_secs(10);

/// The next thing to do after a round.
enum Next {
    Go,
    Wait(Duration),
    Idle,
}

pub(super) struct Running {
    relay: Relay,
    stopped: watch::Receiver<bool>,
    report: Arc<Mutex<RelayReport>>,
    targets: Vec<Target>,
    outbox: String,
    cursor: Cursor,
    pauses: Pauses,
    listener: Option<Box<dyn Listener>>,
    next_test: Option<Instant>,
    next_sweep: Instant,
    next_count: Instant,
    /// The queues that had rows when they were counted last.
    counted: Vec<OutboxCounts>,
    poll: Duration,
}

impl Running {
    pub(super) fn new(
        relay: Relay,
        stopped: watch::Receiver<bool>,
        report: Arc<Mutex<RelayReport>>,
    ) -> Self {
        let targets = relay.outbox.queues();
        let now = Instant::now();
        Self {
            targets: targets
                .map(|(name, config)| Target::new(name, config))
                .collect(),
            next_test: relay.listen.then_some(now),
            relay,
            stopped,
            report,
            outbox: String::new(),
            cursor: Cursor::new(),
            pauses: Pauses::default(),
            listener: None,
            next_sweep: now,
            next_count: now,
            counted: Vec::new(),
            poll: SHORTEST_POLL,
        }
    }

    pub(super) async fn run(mut self) -> Result<()> {
        while let Err(error) = self.prepare().await {
            if !error.is_transient() {
                return Err(error);
            }
            self.failed(&error).await;
            if *self.stopped.borrow() {
                return Ok(());
            }
        }
        while !*self.stopped.borrow() {
            self.test_listening().await;
            match self.round().await {
                Ok(next) => {
                    self.pauses.end();
                    self.after(next).await;
                }
                Err(error) => self.failed(&error).await,
            }
        }
        Ok(())
    }

    /// Checks the tables, and opens the queues.
    async fn prepare(&mut self) -> Result<()> {
        self.outbox = self.relay.store.outbox().await?;
        for target in &mut self.targets {
            match target.open(&self.relay.queues).await {
                Err(error) if !error.is_transient() => return Err(error),
                // The queue is opened later; the other queues need not wait for it.
                _ => {}
            }
        }
        Ok(())
    }

    async fn failed(&mut self, error: &Error) {
        self.relay.emit(&RelayEvent::Failed { queue: None, error });
        let pause = self.pauses.begin();
        self.pause(pause).await;
    }

    async fn after(&mut self, next: Next) {
        match next {
            Next::Go => self.poll = SHORTEST_POLL,
            Next::Wait(pause) => self.pause(pause).await,
            Next::Idle => {
                let poll = match &self.listener {
                    Some(_) => LONGEST_POLL,
                    None => self.poll,
                };
                self.poll = (2 * self.poll).min(LONGEST_POLL);
                let retry = self
                    .targets
                    .iter()
                    .filter_map(|target| target.pauses.left());
                #[cfg(feature = "planted")]
                let poll = match self.relay.planted {
                    Some(PlantedBug::NoPoll) => Duration::from_secs(24 * 60 * 60),
                    _ => poll,
                };
                let pause = retry.fold(poll, Duration::min);
                self.pause(pause).await;
            }
        }
    }

    /// Opens the listener, and has it hear a wake-up of its own: a pooler may accept LISTEN and drop it.
    async fn test_listening(&mut self) {
        if self.next_test.is_none_or(|next| Instant::now() < next) {
            return;
        }
        self.next_test = Some(Instant::now() + NEXT_TEST);
        let text = format!("{:p} {:?}", self, Instant::now());
        let store = &self.relay.store;
        let test = async {
            let Some(mut listener) = store.listen().await? else {
                return Ok(None);
            };
            store.notify(&text).await?;
            while !listener.next().await?.contains(&text) {}
            Ok::<_, Error>(Some(listener))
        };
        self.listener = match timeout(SELF_TEST, test).await {
            Ok(Ok(listener)) => listener,
            Ok(Err(error)) => {
                let error = &error;
                self.relay.emit(&RelayEvent::Failed { queue: None, error });
                None
            }
            Err(_) => None,
        };
        if self.listener.is_some() {
            self.next_test = None;
        }
        let listens = self.listener.is_some();
        self.relay.emit(&RelayEvent::Listening(listens));
    }

    async fn round(&mut self) -> Result<Next> {
        let targets = self.targets.iter_mut();
        for target in targets.filter(|target| target.pauses.are_over()) {
            if let Err(error) = target.open(&self.relay.queues).await {
                hold(&self.relay, target, &error);
            }
        }
        let ready = self.targets.iter().filter(|target| target.is_ready());
        let queues: Vec<String> = ready.map(|target| target.name.to_string()).collect();
        if self.cursor.is_due() {
            let all = self.targets.iter().map(|target| target.name.to_string());
            let all: Vec<String> = all.collect();
            let from = self.cursor.from();
            if let Some(seen) = self.relay.store.look(&all, from).await? {
                self.cursor.advance(&seen);
            }
            self.sweep().await?;
            self.count().await;
        }
        if queues.is_empty() {
            return Ok(Next::Idle);
        }
        let all = self.cursor.scans_all();
        let wish = Wish {
            queues,
            from: if all { 0 } else { self.cursor.from() },
            rows: self.relay.rows,
            bytes: limits::MAX_BATCH_BYTES as u64,
        };
        let taken = self.relay.store.take(&wish).await?;
        let rows = taken.rows();
        let Some(first) = rows.first() else {
            // The connection is fit for others again.
            return taken.settle(&[], &[]).await.map(|()| Next::Idle);
        };
        if first.id < self.cursor.from() {
            self.cursor.reset();
        }
        #[cfg(feature = "planted")]
        if self.relay.planted == Some(PlantedBug::SkipsLateCommits) {
            self.cursor.skip_to(rows[rows.len() - 1].id);
        }
        #[cfg(feature = "planted")]
        if self.relay.planted == Some(PlantedBug::DeleteFirst) {
            return self.delete_first(taken).await;
        }
        let ends = self.push(rows).await;
        let behind = rows.iter().any(|row| row.behind);
        taken.settle(&ends.done, &ends.refused).await?;
        self.note(&ends);
        let moved = !ends.done.is_empty() || !ends.refused.is_empty();
        Ok(match (moved, behind) {
            (true, _) => Next::Go,
            (false, true) => Next::Wait(BEHIND),
            (false, false) => Next::Idle,
        })
    }

    /// Pushes the rows, queue by queue.
    async fn push(&mut self, rows: &[OutboxRow]) -> Ends {
        let mut ends = Ends::default();
        let mut by_queue: BTreeMap<&str, Vec<(i64, Push)>> = BTreeMap::new();
        for row in rows.iter().filter(|row| !row.behind) {
            match self.message(row) {
                Ok(push) => by_queue.entry(&row.queue).or_default().push((row.id, push)),
                Err(reason) => ends.refused.push((row.id, reason)),
            }
        }
        for (queue, rows) in by_queue {
            let relay = &self.relay;
            let target = self
                .targets
                .iter_mut()
                .find(|target| target.name.as_str() == queue);
            let Some(target) = target else { continue };
            let done = ends.done.len();
            let pushed = target.push(&rows, &mut ends);
            #[cfg(feature = "tracing")]
            let pushed = super::spans::within(queue, &rows, pushed);
            match pushed.await {
                Ok(()) => target.pauses.end(),
                Err(error) => {
                    if ends.done.len() > done {
                        // A full queue that took some rows may take more soon.
                        target.pauses.end();
                    }
                    hold(relay, target, &error);
                }
            }
            let rows = ends.done.len() - done;
            if rows > 0 {
                relay.emit(&RelayEvent::Relayed { queue, rows });
            }
        }
        for (id, reason) in &ends.refused {
            let queue = rows.iter().find(|row| row.id == *id);
            let queue = queue.map_or("", |row| row.queue.as_str());
            self.relay.emit(&RelayEvent::Refused {
                queue,
                id: *id,
                reason,
            });
        }
        ends
    }

    /// The message of a row, or why it is kept apart.
    fn message(&self, row: &OutboxRow) -> Result<Push, String> {
        if row.age > self.relay.window {
            return Err(format!(
                "held: the row is {} s old, and queues know a key for 7 days at most, so it may have been pushed before",
                row.age.as_secs()
            ));
        }
        let push = row
            .message(&self.outbox)
            .map_err(|error| error.to_string())?;
        let mut targets = self.targets.iter();
        let target = targets.find(|target| target.name.as_str() == row.queue);
        if let Some(error) = target.and_then(|target| target.refusal(&push)) {
            return Err(error.to_string());
        }
        #[cfg(feature = "planted")]
        if self.relay.planted == Some(PlantedBug::NoKey) {
            let mut push = push;
            push.dedup = None;
            return Ok(push);
        }
        Ok(push)
    }

    fn note(&self, ends: &Ends) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.relayed += ends.done.len() as u64;
        report.duplicates += ends.duplicates;
        report.refused += ends.refused.len() as u64;
    }

    async fn sweep(&mut self) -> Result<()> {
        let Some(inbox) = self.relay.inbox else {
            return Ok(());
        };
        if Instant::now() >= self.next_sweep {
            let removed = inbox.sweep_step(&*self.relay.store).await?;
            if removed < u64::from(STEP) {
                self.next_sweep = Instant::now() + NEXT_TEST;
            }
        }
        Ok(())
    }

    /// Counts the rows, for gauges and events. A count that fails leaves the last numbers.
    async fn count(&mut self) {
        if Instant::now() < self.next_count || !self.relay.is_watched() {
            return;
        }
        self.next_count = Instant::now() + COUNT;
        let Ok(mut counts) = self.relay.store.counts().await else {
            return;
        };
        // A gauge of a queue whose rows are gone says so.
        let own = self.targets.iter().map(|target| target.name.to_string());
        let gone = self.counted.drain(..).map(|counts| counts.queue).chain(own);
        for queue in gone.collect::<BTreeSet<_>>() {
            if !counts.iter().any(|counts| counts.queue == queue) {
                counts.push(OutboxCounts::none(queue));
            }
        }
        for counts in &counts {
            self.relay.emit(&RelayEvent::Counted(counts));
        }
        counts.retain(|counts| counts.waiting + counts.refused > 0);
        self.counted = counts;
    }

    async fn pause(&mut self, pause: Duration) {
        if let Some(error) = self.wait(pause).await {
            let error = &error;
            self.relay.emit(&RelayEvent::Failed { queue: None, error });
            self.relay.emit(&RelayEvent::Listening(false));
            self.listener = None;
            self.next_test = Some(Instant::now() + LONGEST_POLL);
        }
    }

    /// Waits for a wake-up, the shutdown or the end of the pause. Returns the error if the listener is lost.
    async fn wait(&mut self, pause: Duration) -> Option<Error> {
        if *self.stopped.borrow() {
            return None;
        }
        let listener = &mut self.listener;
        let hears = async {
            match listener {
                Some(listener) => listener.next().await,
                None => pending().await,
            }
        };
        let (mut hears, mut timer) = (pin!(hears), pin!(sleep(pause)));
        let mut woken = pin!(self.relay.waker.0.notified());
        let mut stops = pin!(self.stopped.changed());
        poll_fn(|cx| {
            if let Poll::Ready(heard) = hears.as_mut().poll(cx) {
                return Poll::Ready(heard.err());
            }
            let over = woken.as_mut().poll(cx).is_ready()
                || stops.as_mut().poll(cx).is_ready()
                || timer.as_mut().poll(cx).is_ready();
            match over {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        })
        .await
    }

    #[cfg(feature = "planted")]
    async fn delete_first(&mut self, taken: Box<dyn crate::Taken>) -> Result<Next> {
        let rows = taken.rows().to_vec();
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        taken.settle(&ids, &[]).await?;
        let ends = self.push(&rows).await;
        self.note(&ends);
        Ok(Next::Go)
    }
}

/// Holds the rows of a queue for a while.
fn hold(relay: &Relay, target: &mut Target, error: &Error) {
    target.pauses.begin();
    let queue = Some(target.name.as_str());
    relay.emit(&RelayEvent::Failed { queue, error });
}
