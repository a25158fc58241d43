//! The delay queue.

use std::time::Duration;

use async_trait::async_trait;
use queue_core::{
    Cancelled, DelayQueue, Due, MessageId, Pushed, Rescheduled, Result, Scheduled, limits,
    millis_ceil,
};

use super::{
    Handle, LeasingKind, Queue,
    leasing::add_ids,
    push,
    put::{Put, Putter},
};
use crate::{
    call::Call,
    frame,
    scripts::{self, LeasingScripts},
};

/// Each at its due time.
#[derive(Debug)]
pub(crate) enum Delay {}

impl LeasingKind for Delay {
    const SCRIPTS: &LeasingScripts = &scripts::DELAY;
    type Putters = Putter<Schedule>;
}

#[async_trait]
impl DelayQueue for Queue<Delay> {
    async fn schedule(&self, messages: &[Scheduled]) -> Result<Vec<Pushed>> {
        self.checked(Scheduled::check_all(messages, self.max_body))?;
        self.putters.put(messages).await
    }

    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
        self.checked(limits::check_batch(ids.len()))?;
        let script = &scripts::DELAY_CANCEL;
        let fill = |call: &mut Call| add_ids(call, ids);
        let mut reply = self.handle.call_without_dedup(script, fill).await?;
        reply.letters(ids.len(), |letter| match letter {
            b'c' => Some(Cancelled::Cancelled),
            b't' => Some(Cancelled::TooLate),
            _ => None,
        })
    }

    async fn reschedule(&self, id: MessageId, to: Due) -> Result<Rescheduled> {
        self.checked(to.check())?;
        let fill = |call: &mut Call| {
            call.push(&frame::wide(id.get())[..]);
            call.push(&due(to)[..]);
        };
        let script = &scripts::DELAY_RESCHEDULE;
        let mut reply = self.handle.call_without_dedup(script, fill).await?;
        match reply.number()? {
            1 => Ok(Rescheduled::Moved),
            0 => Ok(Rescheduled::TooLate),
            _ => Err(reply.unexpected()),
        }
    }

    async fn next_due(&self) -> Result<Option<Duration>> {
        let script = &scripts::DELAY_NEXT_DUE;
        self.handle.call_without_dedup(script, |_| {}).await?.time()
    }
}

/// Puts messages in by due time.
#[derive(Default)]
pub(crate) struct Schedule;

#[async_trait]
impl Put for Schedule {
    type Entry = Scheduled;
    type Answer = Pushed;

    async fn put(&self, handle: &Handle, messages: &[Scheduled]) -> Result<Vec<Pushed>> {
        let dues: Vec<u8> = messages
            .iter()
            .flat_map(|message| due(message.due))
            .collect();
        let pushes = || messages.iter().map(|message| &message.push);
        let fill = |call: &mut Call| {
            call.push(messages.len());
            call.push(&dues[..]);
            for message in pushes() {
                call.push(push::payload(message));
            }
            push::add_marks(call, pushes());
        };
        let dedup = push::any_dedup(pushes());
        let script = &scripts::DELAY_SCHEDULE;
        let reply = handle.call_push(script, dedup, fill).await?;
        push::pushed(reply, messages.len())
    }

    fn size(message: &Scheduled) -> usize {
        message.push.size()
    }
}

/// A due time as the scripts read it: counted from now, or from 1970.
fn due(due: Due) -> [u8; 8] {
    let (absolute, millis) = match due {
        Due::After(delay) => (0, millis_ceil(delay)),
        Due::At(time) => (1, time.as_millis()),
    };
    let mut bytes = [absolute; 8];
    bytes[1..].copy_from_slice(&frame::wide(millis));
    bytes
}
