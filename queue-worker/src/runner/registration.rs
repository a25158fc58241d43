//! The worker's place in the list of workers.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    task::{Context as Poller, Poll},
    time::Duration,
};

use queue_core::{
    Backend, Error, OperatorsList, Result, TimesRecord, WorkerRecord, WorkerRegistration,
    WorkerState, WorkerWish, millis_ceil,
};
use tokio::time::{Instant, timeout};

use super::{InFlight, Runner, alarm::Alarm};
use crate::{
    event::{Event, Phase},
    later::after,
    settings::Registry,
};

/// The time between two beats.
const BEAT: Duration = Duration::from_secs(10);
/// A worker that ends takes itself off the list within this time, or not at all.
const LAST: Duration = Duration::from_secs(1);

pub(super) struct Registration {
    registry: Registry,
    /// The key of its records, which no other worker has.
    key: String,
    started: Instant,
    /// Its places in the lists, while no beat is in flight.
    places: Places,
    beat: Option<InFlight<Beaten>>,
    due: Instant,
    /// Whether an operator has made it quiet.
    is_quiet: bool,
}

/// The places of a worker in the lists, as far as they were opened.
#[derive(Default)]
struct Places {
    worker: Option<WorkerRegistration>,
    times: Option<OperatorsList<TimesRecord>>,
}

/// A beat that has ended.
struct Beaten {
    places: Places,
    /// What an operator wants of the worker, or why the beat failed.
    result: Result<Option<WorkerWish>>,
}

impl Registration {
    pub(super) fn new(registry: Registry, now: Instant) -> Self {
        Self {
            key: format!("{:016x}", RandomState::new().hash_one(&registry.program)),
            registry,
            started: now,
            places: Places::default(),
            beat: None,
            due: now,
            is_quiet: false,
        }
    }

    /// A beat with these records. The first one opens the lists.
    fn beat(
        &mut self,
        record: WorkerRecord,
        times: Vec<(String, TimesRecord)>,
    ) -> InFlight<Beaten> {
        let (mut places, queues) = (
            std::mem::take(&mut self.places),
            self.registry.queues.clone(),
        );
        let key = self.key.clone();
        Box::pin(async move {
            let result = places.beat(&**queues.backend(), key, &record, &times).await;
            Beaten { places, result }
        })
    }
}

impl Places {
    async fn beat(
        &mut self,
        backend: &dyn Backend,
        key: String,
        record: &WorkerRecord,
        times: &[(String, TimesRecord)],
    ) -> Result<Option<WorkerWish>> {
        let worker = match &mut self.worker {
            Some(worker) => worker,
            None => self
                .worker
                .insert(WorkerRegistration::open(backend, key).await?),
        };
        worker.beat(record).await?;
        let wish = worker.wish(backend).await?;
        self.write(backend, times).await?;
        Ok(wish)
    }

    async fn write(
        &mut self,
        backend: &dyn Backend,
        times: &[(String, TimesRecord)],
    ) -> Result<()> {
        if times.is_empty() {
            return Ok(());
        }
        let list = match &mut self.times {
            Some(list) => list,
            None => self.times.insert(OperatorsList::open(backend).await?),
        };
        list.write(times).await.map(drop)
    }
}

impl Runner {
    /// Sends a beat if one is due, and takes the answer to the last one. Returns true if there was any.
    pub(super) fn keep_registered(&mut self, cx: &mut Poller<'_>, alarm: &mut Alarm) -> bool {
        let mut moved = false;
        let Some(mut registration) = self.registration.take() else {
            return false;
        };
        if let Some(beat) = &mut registration.beat
            && let Poll::Ready(beaten) = beat.as_mut().poll(cx)
        {
            (registration.beat, registration.places) = (None, beaten.places);
            moved = true;
            match beaten.result {
                Ok(Some(wish)) => self.obey(&mut registration, wish, alarm.now),
                Ok(None) => {}
                Err(error) => self.not_registered(&error),
            }
        } else if registration.beat.is_none() && alarm.has_come(registration.due) {
            let record = self.record(&registration, alarm.now);
            let times = self.changed_times(&registration, alarm.now);
            registration.due = after(alarm.now, BEAT);
            registration.beat = Some(registration.beat(record, times));
            moved = true;
        }
        self.registration = Some(registration);
        moved
    }

    fn not_registered(&self, error: &Error) {
        if let Some(times) = &self.events.times {
            times.repeat();
        }
        let name = &self.queues[0].name;
        self.events.emit(name, &Event::NotRegistered { error });
    }

    /// Does what an operator wants. The next beat says so, after the loop has followed.
    fn obey(&self, registration: &mut Registration, wish: WorkerWish, now: Instant) {
        match wish {
            WorkerWish::Quiet => {
                self.control.pause();
                registration.is_quiet = true;
            }
            // A pause of the program's own stays.
            WorkerWish::Work if std::mem::take(&mut registration.is_quiet) => self.control.resume(),
            WorkerWish::Drain => self.control.drain(),
            _ => return,
        }
        registration.due = now;
    }

    fn changed_times(
        &self,
        registration: &Registration,
        now: Instant,
    ) -> Vec<(String, TimesRecord)> {
        let times = self.events.times.as_ref();
        times.map_or_else(Vec::new, |times| times.take_changed(&registration.key, now))
    }

    fn record(&self, registration: &Registration, now: Instant) -> WorkerRecord {
        let queues = self.queues.iter().map(|served| served.name.to_string());
        let in_flight = self.jobs.values().map(|job| job.leases.len() as u64);
        let mut record = WorkerRecord::default();
        record.holder = self.holder.as_str().to_owned();
        record.program = registration.registry.program.to_string();
        record.queues = queues.collect();
        record.slots = self.settings.concurrency as u64;
        record.in_flight = in_flight.sum();
        record.uptime_ms = millis_ceil(now.saturating_duration_since(registration.started));
        record.next_beat_ms = millis_ceil(BEAT);
        record.state = match self.phase {
            Phase::Idle | Phase::Working => WorkerState::Works,
            Phase::Paused => WorkerState::Quiet,
            _ => WorkerState::Drains,
        };
        record
    }

    /// Takes the worker off the list, if it is there.
    pub(super) async fn leave_the_list(&mut self) {
        let Some(mut registration) = self.registration.take() else {
            return;
        };
        let times = self.changed_times(&registration, Instant::now());
        let backend = Arc::clone(registration.registry.queues.backend());
        let leave = async {
            if let Some(beat) = registration.beat.take() {
                registration.places = beat.await.places;
            }
            // The times stay for an hour.
            let _written = registration.places.write(&*backend, &times).await;
            match &mut registration.places.worker {
                Some(place) => place.leave().await,
                None => Ok(()),
            }
        };
        // If it cannot, the list shows it as gone.
        let _ = timeout(LAST, leave).await;
    }
}
