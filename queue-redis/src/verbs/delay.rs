//! The delay queue.

use std::time::Duration;

use async_trait::async_trait;
use queue_core::{DelayQueue, Due, MessageId, Push, Pushed, Rescheduled, Result, Scheduled};
use redis_link::ScriptCall;

use super::{Queue, kind::LeasingKind, leasing::with_ids, push};
use crate::{
    frame,
    reply::Reply,
    script::Script,
    scripts::{self, LeasingScripts},
};

/// Delivers each message at its due time.
#[derive(Debug)]
pub(crate) enum Delay {}

impl LeasingKind for Delay {
    type Message = Scheduled;
    type Pushed = Pushed;

    const SCRIPTS: &LeasingScripts = &scripts::DELAY;
    const PUSH: &Script = &scripts::DELAY_PUSH;

    fn push(message: &Scheduled) -> &Push {
        &message.push
    }

    fn add_before(batch: &[Scheduled], _mode: usize, call: &mut ScriptCall) {
        let dues: Vec<u8> = batch
            .iter()
            .flat_map(|message| frame::due(message.due))
            .collect();
        call.push(&dues[..]);
    }

    fn replies(reply: Reply, messages: usize) -> Result<Vec<Pushed>> {
        push::pushed(reply, messages)
    }
}

#[async_trait]
impl DelayQueue for Queue<Delay> {
    async fn schedule(&self, messages: &[Scheduled]) -> Result<Vec<Pushed>> {
        self.checked(Scheduled::check_all(messages, self.max_body))?;
        self.push_batchers[0].submit(messages).await
    }

    async fn reschedule(&self, id: MessageId, to: Due) -> Result<Rescheduled> {
        self.checked(to.check())?;
        let call = self.handle.prepare(&scripts::DELAY.reschedule);
        let call = with_ids(call.with(&frame::due(to)[..]), &[id]);
        let mut reply = self.handle.run(&call).await?;
        let moved = reply.statuses(1, |letter| match letter {
            b'm' => Some(Rescheduled::Moved),
            b't' => Some(Rescheduled::TooLate),
            _ => None,
        })?;
        Ok(moved[0])
    }

    async fn next_due(&self) -> Result<Option<Duration>> {
        let call = self.handle.prepare(&scripts::DELAY_NEXT_DUE);
        self.handle.run(&call).await?.time()
    }
}
