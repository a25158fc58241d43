//! The grouped queue.

use async_trait::async_trait;
use queue_core::{
    Cursor, Group, GroupedQueue, Keyed, Page, Paged, Push, Pushed, Result, Timestamp,
};
use redis_link::ScriptCall;

use super::{Queue, cursors::cursor, kind::LeasingKind, push};
use crate::{
    frame,
    reply::Reply,
    script::Script,
    scripts::{self, LeasingScripts},
};

/// Delivers each group in order, and all groups in turn.
#[derive(Debug)]
pub(crate) enum Grouped {}

impl LeasingKind for Grouped {
    type Message = Keyed;
    type Pushed = Pushed;

    const HEAD: usize = frame::GROUPED_HEAD;
    const SCRIPTS: &LeasingScripts = &scripts::GROUPED;
    const PUSH: &Script = &scripts::GROUPED_PUSH;

    fn push(message: &Keyed) -> &Push {
        &message.push
    }

    fn add_before(batch: &[Keyed], _mode: usize, call: &mut ScriptCall) {
        let mut names = Vec::new();
        for Keyed { key, .. } in batch {
            // The length was checked before.
            names.push(u8::try_from(key.len().saturating_sub(1)).unwrap_or(u8::MAX));
            names.extend_from_slice(key);
        }
        call.push(&names[..]);
    }

    fn replies(reply: Reply, messages: usize) -> Result<Vec<Pushed>> {
        push::pushed(reply, messages)
    }
}

#[async_trait]
impl GroupedQueue for Queue<Grouped> {
    async fn push_keyed(&self, messages: &[Keyed]) -> Result<Vec<Pushed>> {
        self.checked(Keyed::check_all(messages, self.max_body))?;
        self.push_batchers[0].submit(messages).await
    }

    async fn groups(&self, page: Page) -> Result<Paged<Group>> {
        self.checked(page.check())?;
        let passed = page.after.map_or(0, Cursor::get);
        let call = self.handle.prepare(&scripts::GROUPED_GROUPS);
        let mut reply = self.handle.run(&call.with(passed).with(page.limit)).await?;
        let next = cursor(&mut reply)?;
        let now = Timestamp::from_millis(reply.count()?);
        let mut entries = Vec::with_capacity(reply.len() / 7);
        while reply.len() > 0 {
            entries.push(group(&mut reply, now)?);
        }
        Ok(Paged { entries, next })
    }
}

fn group(reply: &mut Reply, now: Timestamp) -> Result<Group> {
    let (key, ready, held) = (reply.bytes()?, reply.count()?, reply.count()?);
    let since = u64::try_from(reply.number()?).map(Timestamp::from_millis);
    let may_run = reply.number()? == 1;
    let held_by = reply.bytes()?;
    let due = u64::try_from(reply.number()?).map(Timestamp::from_millis);
    Ok(Group {
        key,
        ready,
        held: u32::try_from(held).unwrap_or(u32::MAX),
        oldest_ready: since.ok().map(|since| now.since(since)),
        may_run,
        held_by: frame::id(held_by),
        waits: due.ok().map(|due| due.since(now)),
    })
}
