//! A queue: its calls take effect in memory, and their answers wait for the journal.

use std::sync::Arc;

use async_trait::async_trait;
use queue_core::{
    AnyQueue, Backend, Claim, Confirmation, Confirmer, Copies, OnceCounts, OnceStore, QueueConfig,
    QueueName, Result, Timestamp, Token,
    call::{Answer, Call, Service},
};
use queue_memory::journal;
use tokio::time::timeout;

use crate::{
    at_once::at_once,
    core::{Core, SlotState},
    journal::Room,
    owner::Owner,
    record::{self, OnceCall},
};

/// What a call does to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It waits, and takes nothing.
    Waits,
    /// It looks at counts that no time changes.
    Looks,
    /// It reads. Each call first reclaims and promotes messages (L7), which the journal has to know.
    Reads,
    /// It may change messages.
    Changes,
    /// It may make the queue longer.
    Adds,
}

fn effect(call: &Call) -> Effect {
    match call {
        Call::WaitForArrival(_)
        | Call::WaitToLease(..)
        | Call::WaitForEnd(..)
        | Call::WaitForRoom(_)
        | Call::WaitForTurn(_) => Effect::Waits,
        // A queue refuses the last two.
        Call::Capacity
        | Call::List(_)
        | Call::Len
        | Call::OpenOrResize(_)
        | Call::Reconfigure(_) => Effect::Looks,
        Call::Depth
        | Call::Counters
        | Call::DeadLetters(_)
        | Call::Peek(..)
        | Call::Find(_)
        | Call::NextDue
        | Call::Groups(_)
        | Call::Recent(_) => Effect::Reads,
        Call::Reschedule(..)
        | Call::Lease(..)
        | Call::Settle(_)
        | Call::SettleAndLease(..)
        | Call::Extend(..)
        | Call::Revive(..)
        | Call::Discard(_)
        | Call::Pause
        | Call::Resume
        | Call::Purge(_)
        | Call::Cancel(_)
        | Call::ChangeGroup(..)
        | Call::Resize(_)
        | Call::Rotate(_)
        | Call::Remove(_) => Effect::Changes,
        Call::Push(_) | Call::Insert(_) => Effect::Adds,
    }
}

/// What shows, after a call that may change messages, whether it did so.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// It hands out messages, and does nothing else.
    only_takes: bool,
    /// The number of messages that it brings.
    messages: usize,
}

impl Asked {
    fn by(call: &Call) -> Self {
        Self {
            only_takes: match call {
                Call::SettleAndLease(settlements, ..) => settlements.is_empty(),
                call => matches!(call, Call::Lease(..) | Call::Rotate(_)),
            },
            messages: match call {
                Call::Push(messages) => messages.len(),
                Call::Insert(items) => items.len(),
                _ => 0,
            },
        }
    }

    /// Whether the call has changed anything, beside what it reclaimed.
    fn has_changed(self, answer: &Answer) -> bool {
        let took = match answer {
            Answer::Leased(leased) | Answer::SettledAndLeased(_, leased) => !leased.is_empty(),
            Answer::Rotated(rotated) => !rotated.items.is_empty(),
            _ => true,
        };
        took || !self.only_takes
    }
}

/// The bytes of a record of a call that changed nothing but what every call does.
const LOOK: usize = 16;

/// A handle to a queue in a folder.
#[derive(Debug)]
pub(crate) struct FileQueue {
    owner: Arc<Owner>,
    name: QueueName,
    /// The configuration with which a call makes the queue again after a removal.
    config: QueueConfig,
    memory: AnyQueue,
    confirmation: Option<Confirmation>,
}

impl FileQueue {
    /// A handle as any queue. `memory` is the queue in memory.
    pub(crate) fn handle(
        owner: &Arc<Owner>,
        name: &QueueName,
        config: QueueConfig,
        memory: AnyQueue,
        confirmation: Option<Confirmation>,
    ) -> AnyQueue {
        let kind = config.kind();
        let queue = Self {
            owner: Arc::clone(owner),
            name: name.clone(),
            config,
            memory,
            confirmation,
        };
        AnyQueue::behind(Arc::new(queue), kind)
    }

    fn core(&self) -> &Core {
        &self.owner.core
    }
}

#[async_trait]
impl Service for FileQueue {
    async fn call(&self, call: Call) -> Result<Answer> {
        let core = self.core();
        core.journal.check()?;
        let effect = effect(&call);
        if effect == Effect::Waits {
            return self.memory.call(call).await;
        }
        let mut call = call;
        loop {
            core.make(&self.name, &self.config).await?;
            match on_queue(core, &self.name, &self.memory, call, effect).await? {
                Called::Done(answer, record) => {
                    self.owner.done(record).await?;
                    return answer;
                }
                Called::NoQueue(undone) => call = undone,
            }
        }
    }

    fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
        let confirmation = self.confirmation?;
        Some(Arc::new(OnDisk {
            owner: Arc::clone(&self.owner),
            confirmation,
        }))
    }
}

/// How a call ended.
pub(crate) enum Called {
    /// With this answer, which waits for this record.
    Done(Result<Answer>, u64),
    /// The queue was removed.
    NoQueue(Call),
}

/// Makes a call at one instant.
pub(crate) async fn on_queue(
    core: &Core,
    name: &QueueName,
    memory: &AnyQueue,
    call: Call,
    effect: Effect,
) -> Result<Called> {
    let number = core.on_slot(false, name, |state| state.number);
    let Some(number) = number else {
        return Ok(Called::NoQueue(call));
    };
    let changes = matches!(effect, Effect::Changes | Effect::Adds);
    let content = changes.then(|| record::call(number, &call));
    let length = content.as_ref().map_or(LOOK, Vec::len).max(LOOK);
    let stirs = |now| core.memory.stirs(name, now);
    let mut room = None;
    if changes || (effect == Effect::Reads && stirs(core.memory.time())?) {
        room = Some(core.journal.room(length, effect == Effect::Adds).await?);
    }
    let mut work = Some((call, content));
    loop {
        let called = core.on_slot(false, name, |state| {
            let now = core.memory.time();
            let has_stirred = effect != Effect::Looks && stirs(now)?;
            if has_stirred && room.is_none() {
                return Ok(None);
            }
            let Some((call, content)) = work.take() else {
                return Ok(None);
            };
            if state.number != Some(number) {
                return Ok(Some(Called::NoQueue(call)));
            }
            let instant = Instant {
                core,
                memory,
                number,
                now,
                has_stirred,
            };
            let answer = instant.call(state, call, content, room.take());
            Ok(Some(Called::Done(answer, state.last)))
        })?;
        match called {
            Some(called) => return Ok(called),
            None => room = Some(core.journal.room(LOOK, false).await?),
        }
    }
}

/// A call under the lock of its queue.
struct Instant<'a> {
    core: &'a Core,
    memory: &'a AnyQueue,
    number: u64,
    now: Timestamp,
    has_stirred: bool,
}

impl Instant<'_> {
    fn call(
        &self,
        state: &mut SlotState,
        call: Call,
        content: Option<Vec<u8>>,
        room: Option<Room<'_>>,
    ) -> Result<Answer> {
        let asked = Asked::by(&call);
        let answer = self.at(call);
        let has_changed = answer
            .as_ref()
            .is_ok_and(|answer| asked.has_changed(answer));
        let Some(room) = room else {
            return answer;
        };
        match content.filter(|_| has_changed) {
            Some(content) => {
                state.came.0 += if asked.messages > 0 {
                    content.len() as u64
                } else {
                    0
                };
                state.came.1 += asked.messages as u64;
                state.last = self.core.journal.append(room, self.now, content);
            }
            // A refused call has reclaimed nothing.
            None if self.has_stirred && answer.is_ok() => {
                let look = record::look(self.number);
                state.last = self.core.journal.append(room, self.now, look);
            }
            None => {}
        }
        answer
    }

    fn at(&self, call: Call) -> Result<Answer> {
        journal::at(self.now, || at_once(self.memory.call(call)))
    }
}

/// Confirms calls when they are on the disk (R2).
#[derive(Debug)]
struct OnDisk {
    owner: Arc<Owner>,
    confirmation: Confirmation,
}

#[async_trait]
impl Confirmer for OnDisk {
    async fn confirm<'a>(
        &'a self,
        call: std::pin::Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>,
    ) -> Result<Copies> {
        call.await?;
        let synced = timeout(self.confirmation.within, self.owner.core.journal.synced()).await;
        Ok(match synced {
            Ok(true) => Copies::Enough,
            Ok(false) => Copies::Unknown(self.owner.core.journal.failure().unwrap_or_default()),
            Err(_) => Copies::Fewer {
                replicas: 0,
                flushed: false,
            },
        })
    }
}

/// A store of once keys in a folder.
#[derive(Debug)]
pub(crate) struct FileOnce {
    owner: Arc<Owner>,
    name: QueueName,
    memory: Arc<dyn OnceStore>,
}

impl FileOnce {
    /// Opens a store, and makes it if there is none.
    pub(crate) async fn open(owner: &Arc<Owner>, name: &QueueName) -> Result<Self> {
        let core = &owner.core;
        core.journal.check()?;
        let known = core.on_slot(true, name, |state| state.number.map(|_| state.last));
        let record = if let Some(last) = known {
            last
        } else {
            let number = core.new_number();
            let content = record::open_once(number, name);
            let room = core.journal.room(content.len(), true).await?;
            core.on_slot(true, name, |state| {
                if state.number.is_none() {
                    let record = core.journal.append(room, core.memory.time(), content);
                    state.number = Some(number);
                    (state.last, state.from) = (record, record);
                }
                state.last
            })
        };
        owner.done(record).await?;
        Ok(Self {
            owner: Arc::clone(owner),
            name: name.clone(),
            memory: at_once(core.memory.open_once(name))?,
        })
    }

    /// Makes a call, which is recorded if it took effect.
    async fn call<T: Send>(
        &self,
        call: OnceCall,
        work: impl FnOnce(&dyn OnceStore) -> Result<T> + Send,
        has_changed: impl FnOnce(&T) -> bool + Send,
    ) -> Result<T> {
        let core = &self.owner.core;
        let number = core.on_slot(true, &self.name, |state| state.number);
        let content = record::once(number.unwrap_or_default(), &call);
        let room = core.journal.room(content.len(), false).await?;
        let (answer, record) = core.on_slot(true, &self.name, |state| {
            let now = core.memory.time();
            let answer = journal::at(now, || work(&*self.memory));
            if answer.as_ref().is_ok_and(has_changed) {
                state.last = core.journal.append(room, now, content);
            }
            (answer, state.last)
        });
        self.owner.done(record).await?;
        answer
    }
}

#[async_trait]
impl OnceStore for FileOnce {
    async fn claim(&self, key: &[u8], claim_time: std::time::Duration) -> Result<Claim> {
        let call = OnceCall::Claim(key.to_vec().into(), claim_time);
        let has_changed = |claim: &Claim| matches!(claim, Claim::Claimed(_));
        self.call(
            call,
            |store| at_once(store.claim(key, claim_time)),
            has_changed,
        )
        .await
    }

    async fn extend(
        &self,
        key: &[u8],
        token: Token,
        claim_time: std::time::Duration,
    ) -> Result<()> {
        let call = OnceCall::Extend(key.to_vec().into(), token, claim_time);
        self.call(
            call,
            |store| at_once(store.extend(key, token, claim_time)),
            |()| true,
        )
        .await
    }

    async fn finish(&self, key: &[u8], token: Token, keep: std::time::Duration) -> Result<()> {
        let call = OnceCall::Finish(key.to_vec().into(), token, keep);
        self.call(
            call,
            |store| at_once(store.finish(key, token, keep)),
            |()| true,
        )
        .await
    }

    async fn release(&self, key: &[u8], token: Token) -> Result<()> {
        let call = OnceCall::Release(key.to_vec().into(), token);
        self.call(call, |store| at_once(store.release(key, token)), |()| true)
            .await
    }

    async fn counts(&self) -> Result<OnceCounts> {
        let core = &self.owner.core;
        core.journal.check()?;
        let (counts, record) = core.on_slot(true, &self.name, |state| {
            let now = core.memory.time();
            let counts = journal::at(now, || at_once(self.memory.counts()));
            (counts, state.last)
        });
        self.owner.done(record).await?;
        counts
    }
}
