//! Grouped queues.

use bytes::Bytes;
use queue_core::{
    Cursor, Group, GroupChange, GroupedConfig, Page, Paged, Push, QueueConfig, QueueKind, Result,
    Timestamp,
};

use super::{
    backlog::Lined,
    entry::{EntryPlace, Key, StoredMessage},
    groups::{Groups, key_in, name_of},
    kind::Kind,
    leasing::LeasingState,
    opening::Leases,
};

/// Each group in order, and all groups in turn.
#[derive(Debug)]
pub(crate) enum Grouped {}

impl Kind for Grouped {
    type Backlog = Lined<Groups>;
    type Config = GroupedConfig;

    fn set(message: &mut StoredMessage, push: &Push) {
        message.group = Some(name_of(push.group_key()));
    }

    fn group(message: &StoredMessage) -> Option<Bytes> {
        let name = message.group.as_ref()?;
        Some(Bytes::copy_from_slice(key_in(name)))
    }
}

impl Leases for Grouped {
    const KIND: QueueKind = QueueKind::Grouped;

    fn create(config: &GroupedConfig) -> LeasingState<Self> {
        let groups = Lined::new(Groups::new(config));
        LeasingState::with(config, &config.leasing, groups, usize::MAX)
    }

    fn reconfigure(
        state: &mut LeasingState<Self>,
        now: Timestamp,
        config: &GroupedConfig,
    ) -> Result<()> {
        let asked = QueueConfig::from(config.clone());
        let stored = QueueConfig::from(state.config.clone());
        match asked.kept_from(&stored, &state.depth(now)) {
            0 => {}
            kept => return Err(asked.order_of_kept(kept)),
        }
        state.reconfigure_leasing(now, &config.leasing);
        state.backlog.lines.reconfigure(config);
        state.config = config.clone();
        Ok(())
    }
}

impl LeasingState<Grouped> {
    pub(crate) fn change_group(
        &mut self,
        now: Timestamp,
        key: &[u8],
        change: &GroupChange,
    ) -> Result<()> {
        let now = self.begin(now);
        self.backlog.lines.change_rule(&name_of(key), change, now)
    }

    pub(crate) fn groups(&mut self, now: Timestamp, page: Page) -> Paged<Group> {
        let now = self.begin(now);
        let shown = page.after.map_or(0, Cursor::get);
        let groups = &self.backlog.lines;
        let names = groups
            .names()
            .skip(usize::try_from(shown).unwrap_or(usize::MAX));
        let mut names: Vec<&Key> = names.take(page.limit + 1).collect();
        let more = names.len() > page.limit;
        names.truncate(page.limit);
        let next = more.then(|| Cursor::new(shown + names.len() as u64));
        let entries = names.into_iter().map(|name| {
            let seen = groups.look(name);
            let held_by = seen.held_by.map(|slot| &self.entries[slot]);
            let mut group = Group::new(Bytes::copy_from_slice(key_in(name)), seen.at_once);
            group.ready = seen.ready as u64;
            group.held = seen.held;
            group.oldest_ready = seen.first.map(|slot| now.since(self.entries[slot].since));
            group.may_run = seen.may_run;
            group.weight = seen.weight;
            group.rate = seen.rate;
            group.next_token = seen.token_comes.map(|time| time.since(now));
            group.rule_ends = seen.rule_ends.map(|end| end.since(now));
            group.paused = seen.paused_until.map(|end| end.since(now));
            group.parked = seen.is_parked;
            group.held_by = held_by.map(|entry| entry.id);
            group.waits = held_by.and_then(|entry| match entry.place {
                EntryPlace::Due(due) => Some(due.since(now)),
                _ => None,
            });
            group
        });
        Paged::new(entries.collect(), next)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use queue_core::Settlement;

    use crate::state::churn::{DEAD_LETTERS, churn, delayed};

    #[test]
    fn a_grouped_queue_does_not_grow() {
        let rated = GroupedConfig::loose(2).with_group_rate(2, Duration::from_millis(40));
        for config in [GroupedConfig::default(), GroupedConfig::loose(2), rated] {
            let config = config
                .with_dead_letter_cap(DEAD_LETTERS)
                .with_max_attempts(3);
            let state = Grouped::create(&config);
            churn(state, |state, now, round, pushes| {
                let pushes: Vec<_> = delayed(pushes)
                    .enumerate()
                    .map(|(n, push)| push.with_group(format!("{}", (round * 31 + n * 7) % 2_000)))
                    .collect();
                let _ids = state.push(now, &pushes);
                // A key comes some eight times a second, and its bucket is full after 40 ms.
                assert!(state.backlog.lines.rates.len() < 4_000);
            });
        }
    }

    #[test]
    fn a_full_bucket_leaves_nothing() {
        let config = GroupedConfig::loose(2).with_group_rate(3, Duration::from_millis(30));
        let mut state = Grouped::create(&config);
        let at = Timestamp::from_millis;
        for key in 0..10_000_u64 {
            let push = Push::new("x").with_group(key.to_string());
            state.push(at(1), &[push]);
            let delivery = state.lease(at(1), 1, 1_000, None).deliveries.remove(0);
            state.settle(at(1), &[Settlement::ack(delivery.receipt)]);
        }
        assert_eq!(state.backlog.lines.rates.len(), 10_000);
        for _ in 0..100 {
            state.depth(at(10));
            assert_eq!(state.backlog.lines.rates.len(), 10_000);
        }
        for _ in 0..10_000_usize.div_ceil(128) {
            state.depth(at(11));
        }
        assert_eq!(state.backlog.lines.rates.len(), 0);
    }
}
