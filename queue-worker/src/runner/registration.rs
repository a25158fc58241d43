//! The worker's place in the list of workers.

use std::{
    hash::{BuildHasher, RandomState},
    task::{Context as Poller, Poll},
    time::Duration,
};

use queue_core::{Result, WorkerRecord, WorkerRegistration, millis_ceil};
use tokio::time::{Instant, timeout};

use super::{InFlight, Runner, alarm::Alarm};
use crate::{event::Event, later::after, settings::Registry};

/// The time between two beats.
const BEAT: Duration = Duration::from_secs(10);
/// A worker that ends takes itself off the list within this time, or not at all.
const LAST: Duration = Duration::from_secs(1);

pub(super) struct Registration {
    registry: Registry,
    started: Instant,
    /// Its place in the list, while no beat is in flight.
    place: Option<WorkerRegistration>,
    beat: Option<InFlight<Beaten>>,
    due: Instant,
}

/// The place in the list, if it could be opened, and whether the beat reached it.
type Beaten = (Option<WorkerRegistration>, Result<()>);

impl Registration {
    pub(super) fn new(registry: Registry, now: Instant) -> Self {
        Self {
            registry,
            started: now,
            place: None,
            beat: None,
            due: now,
        }
    }

    /// A beat with this record. The first one opens the list.
    fn beat(&mut self, record: WorkerRecord) -> InFlight<Beaten> {
        let (place, queues) = (self.place.take(), self.registry.queues.clone());
        Box::pin(async move {
            let opened = match place {
                Some(place) => Ok(place),
                None => {
                    let key = format!("{:016x}", RandomState::new().hash_one(&record.holder));
                    WorkerRegistration::open(&**queues.backend(), key).await
                }
            };
            match opened {
                Ok(mut place) => {
                    let beaten = place.beat(&record).await;
                    (Some(place), beaten)
                }
                Err(error) => (None, Err(error)),
            }
        })
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
            && let Poll::Ready((place, beaten)) = beat.as_mut().poll(cx)
        {
            (registration.beat, registration.place) = (None, place);
            moved = true;
            if let Err(error) = beaten {
                let name = &self.queues[0].name;
                self.events
                    .emit(name, &Event::NotRegistered { error: &error });
            }
        }
        if registration.beat.is_none() && alarm.has_come(registration.due) {
            let record = self.record(&registration, alarm.now);
            registration.due = after(alarm.now, BEAT);
            registration.beat = Some(registration.beat(record));
            moved = true;
        }
        self.registration = Some(registration);
        moved
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
        record
    }

    /// Takes the worker off the list, if it is there.
    pub(super) async fn leave_the_list(&mut self) {
        let Some(mut registration) = self.registration.take() else {
            return;
        };
        let leave = async {
            if let Some(beat) = registration.beat.take() {
                (registration.place, _) = beat.await;
            }
            match &mut registration.place {
                Some(place) => place.leave().await,
                None => Ok(()),
            }
        };
        // If it cannot, the list shows it as gone.
        let _ = timeout(LAST, leave).await;
    }
}
