//! A backend as a third party would write it: rings only, a `Vec` behind a lock, and the suite in
//! one line.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use queue_conformance::{Harness, InVirtualTime, OnThreads};
use queue_core::*;
use tokio::{sync::Notify, time::Instant};

#[derive(Debug, Default, Clone)]
struct Rings(Arc<Mutex<BTreeMap<QueueName, Arc<Ring>>>>);

#[derive(Debug)]
struct Ring {
    config: Mutex<RotatingConfig>,
    state: Mutex<State>,
    due: Notify,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    items: Vec<Item>,
}

#[derive(Debug, Clone)]
struct Item {
    message: Message,
    key: Option<Bytes>,
    due: Instant,
}

/// A client's view of a ring: its own limit on bodies.
#[derive(Debug)]
struct Handle {
    ring: Arc<Ring>,
    max_body: usize,
}

impl Ring {
    fn config(&self) -> RotatingConfig {
        self.config.lock().expect("not poisoned").clone()
    }
}

impl Handle {
    fn state(&self) -> MutexGuard<'_, State> {
        self.ring.state.lock().expect("not poisoned")
    }
}

#[async_trait]
impl RotatingQueue for Handle {
    async fn insert(&self, items: &[Insert]) -> Result<Vec<Inserted>> {
        Insert::check_all(items, self.max_body)?;
        let mut state = self.state();
        let answers = items.iter().map(|item| state.insert(item)).collect();
        self.ring.due.notify_one();
        Ok(answers)
    }

    async fn rotate(&self, max: NonZeroUsize) -> Result<Rotated> {
        limits::check_max(max.get())?;
        let mut state = self.state();
        let now = Instant::now();
        let due = |item: &&Item| item.due <= now;
        let sizes = state.items.iter().filter(due).map(Item::size);
        let mut left = limits::fitting(sizes, max.get());
        let mut visited = Vec::new();
        state.items.retain(|item| {
            let visit = left > 0 && item.due <= now;
            if visit {
                left -= 1;
                visited.push(item.clone());
            }
            !visit
        });
        let items: Vec<Message> = visited.iter().map(|item| item.message.clone()).collect();
        for mut item in visited {
            item.due = now + self.ring.config().pace.unwrap_or_default();
            state.items.push(item);
        }
        let next = state.items.iter().map(|item| item.due).min();
        let next = next.map(|due| due.duration_since(now));
        if next.is_some_and(|next| next.is_zero()) {
            self.ring.due.notify_one();
        }
        let nothing = items.is_empty();
        Ok(Rotated {
            items,
            next: next.filter(|_| nothing),
        })
    }

    async fn wait_for_turn(&self, timeout: Duration) -> Result<()> {
        // In both cases the caller polls again.
        tokio::time::timeout(timeout, self.ring.due.notified())
            .await
            .ok();
        Ok(())
    }

    async fn list(&self, page: Page) -> Result<Paged<Message>> {
        page.check()?;
        let state = self.state();
        let start = page.after.map_or(0, |cursor| cursor.get() as usize);
        let rest = state.items.get(start..).unwrap_or_default();
        let count = limits::fitting(rest.iter().map(Item::size), page.limit);
        let entries = rest[..count].iter().map(|item| item.message.clone());
        Ok(Paged {
            entries: entries.collect(),
            next: (count < rest.len()).then(|| Cursor::new((start + count) as u64)),
        })
    }

    async fn remove(&self, ids: &[MessageId]) -> Result<u64> {
        limits::check_batch(ids.len())?;
        let mut state = self.state();
        let before = state.items.len();
        state.items.retain(|item| !ids.contains(&item.message.id));
        Ok((before - state.items.len()) as u64)
    }

    async fn len(&self) -> Result<u64> {
        Ok(self.state().items.len() as u64)
    }
}

impl State {
    fn insert(&mut self, item: &Insert) -> Inserted {
        let same = |other: &&Item| item.key.is_some() && other.key == item.key;
        if let Some(present) = self.items.iter().find(same) {
            return Inserted::Present(present.message.id);
        }
        self.last_id += 1;
        let id = MessageId::new(self.last_id);
        self.items.push(Item {
            message: Message {
                id,
                body: item.body.clone(),
                headers: item.headers.clone(),
            },
            key: item.key.clone(),
            due: Instant::now(),
        });
        Inserted::Added(id)
    }
}

impl Item {
    fn size(&self) -> usize {
        self.message.body.len() + self.message.headers.size()
    }
}

#[async_trait]
impl Backend for Rings {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let QueueConfig::Rotating(config) = config else {
            return Err(config.kind().missing(name));
        };
        config.check()?;
        let mut rings = self.0.lock().expect("not poisoned");
        let ring = rings.entry(name.clone()).or_insert_with(|| {
            Arc::new(Ring {
                config: Mutex::new(config.clone()),
                state: Mutex::default(),
                due: Notify::new(),
            })
        });
        config.check_stored(&ring.config())?;
        Ok(AnyQueue::Rotating(Arc::new(Handle {
            ring: Arc::clone(ring),
            max_body: config.max_body,
        })))
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        config.check()?;
        let rings = self.0.lock().expect("not poisoned");
        let Some(ring) = rings.get(name) else {
            return Ok(false);
        };
        let QueueConfig::Rotating(config) = config else {
            let rotating = QueueKind::Rotating;
            return Err(config_mismatch("kind", rotating, config.kind()));
        };
        let mut state = ring.state.lock().expect("not poisoned");
        let repaced = config.pace != ring.config().pace;
        if repaced && state.items.len() as u64 > limits::MAX_REPACED {
            return Err(RotatingConfig::pace_of_many(state.items.len() as u64));
        }
        *ring.config.lock().expect("not poisoned") = config.clone();
        if repaced {
            for item in &mut state.items {
                item.due = Instant::now();
            }
            ring.due.notify_waiters();
        }
        Ok(true)
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let rings = self.0.lock().expect("not poisoned");
        Ok(rings.get(name).map(stored))
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        limits::check_page(limit.get())?;
        let page: Vec<_> = {
            let rings = self.0.lock().expect("not poisoned");
            let later = rings
                .iter()
                .filter(|(name, _)| after.is_none_or(|after| *name > after));
            let stored = later.map(|(name, ring)| (name.clone(), stored(ring)));
            stored.take(limit.get()).collect()
        };
        let mut infos = Vec::new();
        for (name, stored) in page {
            infos.push(QueueInfo {
                name,
                kind: QueueKind::Rotating,
                state: Some(QueueState::of(&stored.queue).await?),
            });
        }
        Ok(infos)
    }
}

fn stored(ring: &Arc<Ring>) -> StoredQueue {
    let max_body = limits::DEFAULT_MAX_BODY;
    let handle = Handle {
        ring: Arc::clone(ring),
        max_body,
    };
    StoredQueue {
        config: ring.config().with_max_body(max_body).into(),
        queue: AnyQueue::Rotating(Arc::new(handle)),
    }
}

fn in_virtual_time() -> InVirtualTime {
    InVirtualTime::new(Rings::default).only([QueueKind::Rotating])
}

fn on_threads() -> OnThreads {
    OnThreads::new(Rings::default).only([QueueKind::Rotating])
}

mod virtually {
    queue_conformance::suite!(super::in_virtual_time());
}

mod really {
    queue_conformance::suite!(super::on_threads());
}

#[test]
fn every_ring_case_is_played_and_every_other_is_counted() {
    let plan = queue_conformance::plan(&in_virtual_time().capabilities());
    let about_rings = |case: &queue_conformance::Case| case.kind() == Some(QueueKind::Rotating);
    assert!(plan.played.iter().any(about_rings));
    for (case, _) in &plan.skipped {
        assert!(!about_rings(case), "{} is skipped", case.name());
    }
    let counted = plan.played.len() + plan.skipped.len();
    assert_eq!(counted, queue_conformance::cases().len());
}
