//! The grouped queue.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    Cursor, Error, Group, GroupChange, GroupRule, GroupedQueue, LeaseRate, Page, Paged, Push,
    QueueKind, Result, Timestamp, millis_ceil,
};
use redis_link::ScriptCall;

use super::{Queue, cursors::cursor, kind::LeasingKind};
use crate::{
    frame,
    reply::Reply,
    scripts::{self, LeasingScripts},
};

/// Delivers each group in order, and all groups in turn.
#[derive(Debug)]
pub(crate) enum Grouped {}

impl LeasingKind for Grouped {
    const KIND: QueueKind = QueueKind::Grouped;
    const HEAD: usize = frame::GROUPED_HEAD;
    const SCRIPTS: &LeasingScripts = &scripts::GROUPED;

    fn add_before(batch: &[Push], call: &mut ScriptCall) {
        let mut names = Vec::new();
        for push in batch {
            add_name(push.group_key(), &mut names);
        }
        call.push(&names[..]);
    }
}

#[async_trait]
impl GroupedQueue for Queue<Grouped> {
    async fn change_group(&self, key: Bytes, change: GroupChange) -> Result<()> {
        self.checked(change.check(&key))?;
        let mut name = Vec::new();
        add_name(&key, &mut name);
        let none = GroupRule::lasting(Duration::ZERO);
        let (what, rule) = match change {
            GroupChange::Rule(rule) => ("rule", rule),
            GroupChange::NoRule => ("rule", none),
            GroupChange::Pause(lasts) => ("pause", GroupRule::lasting(lasts)),
            GroupChange::Resume => ("pause", none),
            other => {
                let message = format!("this backend has no change {other:?}");
                return self.checked(Err(Error::invalid(message)));
            }
        };
        let call = self.handle.prepare(&scripts::GROUPED_CHANGE);
        let call = call
            .with(&name[..])
            .with(what)
            .with(millis_ceil(rule.lasts));
        let call = call.with(rule.weight).with(rule.at_once.unwrap_or(0));
        let (most, per) = rule
            .rate
            .map_or((0, 0), |rate| (rate.most, millis_ceil(rate.per)));
        let call = call.with(most).with(per);
        self.handle.run(&call).await.map(drop)
    }

    async fn groups(&self, page: Page) -> Result<Paged<Group>> {
        self.checked(page.check())?;
        let passed = page.after.map_or(0, Cursor::get);
        let call = self.handle.prepare(&scripts::GROUPED_GROUPS);
        let mut reply = self.handle.run(&call.with(passed).with(page.limit)).await?;
        let next = cursor(&mut reply)?;
        let now = Timestamp::from_millis(reply.count()?);
        let mut entries = Vec::with_capacity(reply.len() / 14);
        while reply.len() > 0 {
            entries.push(group(&mut reply, now)?);
        }
        Ok(Paged::new(entries, next))
    }
}

/// Adds a group's name: the key behind a byte with its length, which was checked before.
fn add_name(key: &[u8], names: &mut Vec<u8>) {
    names.push(u8::try_from(key.len().saturating_sub(1)).unwrap_or(u8::MAX));
    names.extend_from_slice(key);
}

fn group(reply: &mut Reply, now: Timestamp) -> Result<Group> {
    let (key, ready, held) = (reply.bytes()?, reply.count()?, reply.count()?);
    let since = time(reply)?;
    let may_run = reply.number()? == 1;
    let held_by = reply.bytes()?;
    let due = time(reply)?;
    let (weight, at_once) = (reply.count()?, reply.count()?);
    let (rule_ends, paused_until) = (time(reply)?, reply.number()?);
    let (most, per) = (reply.count()?, reply.count()?);
    let token_comes = time(reply)?;
    let mut group = Group::new(key, u32::try_from(at_once).unwrap_or(u32::MAX));
    group.ready = ready;
    group.held = u32::try_from(held).unwrap_or(u32::MAX);
    group.oldest_ready = since.map(|since| now.since(since));
    group.may_run = may_run;
    group.held_by = frame::id(held_by);
    group.waits = due.map(|due| due.since(now));
    group.weight = u32::try_from(weight).unwrap_or(u32::MAX);
    let rate = u32::try_from(most).ok().filter(|most| *most > 0);
    group.rate = rate.map(|most| LeaseRate::new(most, Duration::from_millis(per)));
    group.next_token = token_comes.map(|time| time.since(now));
    group.rule_ends = rule_ends.map(|end| end.since(now));
    group.paused = time_of(paused_until).map(|end| end.since(now));
    group.parked = paused_until == -2;
    Ok(group)
}

/// A time, or -1 for none.
fn time(reply: &mut Reply) -> Result<Option<Timestamp>> {
    Ok(time_of(reply.number()?))
}

fn time_of(millis: i64) -> Option<Timestamp> {
    let millis = u64::try_from(millis).ok();
    millis.map(Timestamp::from_millis)
}
