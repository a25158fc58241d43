//! Grouped queues: each group in order, and all groups in turn.

use std::{fmt, future::Future, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    config::{Limit, leasing_setters, same},
    leasing::Leasing,
};
use crate::{Error, LeaseRate, LeasingConfig, MessageId, Page, Paged, Result, limits};

/// A grouped queue: each message belongs to the group of its key, a customer say. At most
/// [`per_group`](GroupedConfig::per_group) messages of a group are under leases (G1). In strict order that is one, and
/// no other message of its group is delivered until it is decided (G2). The groups take turns (G3), and a group that
/// may not run holds up no other (G4).
///
/// Messages of a group are first delivered in the order of joining: a push joins at once, and a delayed one when it is
/// due. A message that comes back by a release or an expired lease goes before the others of its group (L11). In strict
/// order a retried or deferred one does, too, when its delay is over.
///
/// A group may have a rate (Q3): all groups the same by [`group_rate`](GroupedConfig::group_rate), or one group another
/// by its rule. A group without a token waits for the next one, and the other groups go on.
///
/// An empty group leaves nothing behind but its rule (G5), and its bucket until that is full (Q3), so there may be any
/// number of keys.
///
/// The turns are those of start-time fair queueing (Goyal, Vin and Cheng, 1996), counted in messages. A
/// [rule](GroupRule) gives one group another weight, another number of messages at once, or another rate.
#[async_trait]
pub trait GroupedQueue: Leasing {
    /// Shows the groups, a page at a time: first the groups that may run, in their turns; then the others, by key.
    ///
    /// A page is of one instant, and reclaims first (L7). A group that comes, goes or moves between two pages may be
    /// shown twice, or not at all. Each group of a page costs the server the time of a few small commands.
    ///
    /// # Errors
    ///
    /// `Invalid` for a page of no or of more than 1,000 groups.
    async fn groups(&self, page: Page) -> Result<Paged<Group>>;

    /// Gives one group a rule or a pause for a time, or ends it.
    ///
    /// A step of its own: leases of the group go on, and no later lease breaks the rule (G1). The group need not have
    /// messages. A rule and a pause are independent; each replaces the last one of its group.
    ///
    /// # Errors
    ///
    /// `Invalid` for a key of no or of more than 256 bytes, and for a weight, a number, a rate or a time out of its
    /// range.
    async fn change_group(&self, key: Bytes, change: GroupChange) -> Result<()>;
}

/// What [`change_group`](GroupedQueue::change_group) does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GroupChange {
    /// The group has this rule, in place of any other.
    Rule(GroupRule),
    /// The group has no rule.
    NoRule,
    /// The group hands out nothing for this time, or until `Resume`. It changes nothing for a parked group.
    Pause(Duration),
    /// The group is neither paused nor parked.
    Resume,
}

/// The numbers of one group, for a time.
///
/// ```
/// # async fn example(orders: queue_core::Grouped<u64>) -> queue_core::Result<()> {
/// use std::time::Duration;
/// use queue_core::{GroupRule, GroupedQueueExt};
///
/// let month = Duration::from_secs(30 * 24 * 60 * 60);
/// let pays_more = GroupRule::lasting(month).with_weight(4); // four messages for each of the others
/// orders.queue().set_rule("customer-7", pays_more).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GroupRule {
    /// The number of deliveries for each delivery of a group without a rule, while both may run (G3): 1 to 1,000.
    pub weight: u32,
    /// The most messages of the group under leases, in place of [`per_group`](GroupedConfig::per_group). It has no
    /// effect in strict order, where that is always one.
    pub at_once: Option<u32>,
    /// The messages of the group that are handed out in a time, in place of [`group_rate`](GroupedConfig::group_rate)
    /// (Q3).
    pub rate: Option<LeaseRate>,
    /// The time until the rule ends: 1 ms to 2^47 ms.
    pub lasts: Duration,
}

impl GroupRule {
    /// A rule for this time, with weight 1, and no number and no rate of its own.
    pub const fn lasting(lasts: Duration) -> Self {
        Self {
            weight: 1,
            at_once: None,
            rate: None,
            lasts,
        }
    }

    /// With this weight.
    #[must_use]
    pub const fn with_weight(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    /// With at most this number of messages under leases.
    #[must_use]
    pub const fn with_at_once(self, most: u32) -> Self {
        Self {
            at_once: Some(most),
            ..self
        }
    }

    /// With at most `most` messages handed out in each `per`, redeliveries among them (Q3).
    ///
    /// ```
    /// # async fn example(calls: queue_core::Grouped<u64>) -> queue_core::Result<()> {
    /// use std::time::Duration;
    /// use queue_core::{GroupRule, GroupedQueueExt};
    ///
    /// let day = Duration::from_secs(24 * 60 * 60);
    /// let ten_a_second = GroupRule::lasting(day).with_rate(10, Duration::from_secs(1));
    /// calls.queue().set_rule("customer-7", ten_a_second).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn with_rate(self, most: u32, per: Duration) -> Self {
        Self {
            rate: Some(LeaseRate::new(most, per)),
            ..self
        }
    }
}

impl GroupChange {
    /// Checks this and the key of the group.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is broken.
    pub fn check(&self, key: &[u8]) -> Result<()> {
        limits::check_key(key)?;
        match self {
            Self::Rule(GroupRule {
                at_once: Some(0), ..
            }) => Err(Error::invalid(
                "a rule with 0 messages at once would never hand out anything: at least 1; pause the group instead",
            )),
            Self::Rule(rule) => {
                limits::check_weight(rule.weight)?;
                check_group_rate(rule.rate)?;
                limits::rule_millis(rule.lasts).map(drop)
            }
            Self::Pause(lasts) => limits::rule_millis(*lasts).map(drop),
            Self::NoRule | Self::Resume => Ok(()),
        }
    }
}

/// A group, as [`groups`](GroupedQueue::groups) shows it: it has ready messages, messages that hold places, a rule or
/// a pause.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Group {
    /// Its key.
    pub key: Bytes,
    /// The number of its ready messages.
    pub ready: u64,
    /// The number of its messages that hold places: leased ones and, in strict order, one that waits for its retry.
    pub held: u32,
    /// The time since which its next message has been ready.
    pub oldest_ready: Option<Duration>,
    /// Whether its next message may be leased now: it has one, fewer messages hold places than may, it does not wait
    /// for a token, and it is not paused or parked.
    pub may_run: bool,
    /// The most of its messages that may hold places, by its rule or the queue's configuration.
    pub at_once: u32,
    /// Its weight: 1 without a rule.
    pub weight: u32,
    /// Its rate, by its rule or the queue's configuration (Q3).
    pub rate: Option<LeaseRate>,
    /// The time until its next token (Q3); `None` if it has one now, or has no rate.
    pub next_token: Option<Duration>,
    /// The time until its rule ends, if it has one.
    pub rule_ends: Option<Duration>,
    /// The time until it is no longer paused, if someone has paused it.
    pub paused: Option<Duration>,
    /// Whether it is parked: one of its messages died, and the queue parks groups [on death](OnDeath::Park).
    pub parked: bool,
    /// The message that keeps the others waiting, in strict order.
    pub held_by: Option<MessageId>,
    /// The time until that message is ready again, if it waits after a retry or a defer.
    pub waits: Option<Duration>,
}

impl Group {
    /// A group without messages, rule, rate or pause, which may not run. At most `at_once` of its messages may hold places.
    pub const fn new(key: Bytes, at_once: u32) -> Self {
        Self {
            key,
            ready: 0,
            held: 0,
            oldest_ready: None,
            may_run: false,
            at_once,
            weight: 1,
            rate: None,
            next_token: None,
            rule_ends: None,
            paused: None,
            parked: false,
            held_by: None,
            waits: None,
        }
    }

    /// Whether it hands out nothing until its pause ends, or someone resumes it.
    pub const fn is_paused(&self) -> bool {
        self.paused.is_some() || self.parked
    }

    /// Whether nothing but its rate keeps its next message: it may run when its next token comes (Q3).
    pub const fn waits_for_token(&self) -> bool {
        self.next_token.is_some() && self.ready > 0 && self.held < self.at_once && !self.is_paused()
    }
}

/// Conveniences for callers of a grouped queue.
pub trait GroupedQueueExt: GroupedQueue {
    /// Gives a group this rule, in place of any other.
    ///
    /// # Errors
    ///
    /// The errors of [`change_group`](GroupedQueue::change_group).
    fn set_rule(
        &self,
        key: impl Into<Bytes>,
        rule: GroupRule,
    ) -> impl Future<Output = Result<()>> + Send {
        self.change_group(key.into(), GroupChange::Rule(rule))
    }

    /// Ends a group's rule.
    ///
    /// # Errors
    ///
    /// The errors of [`change_group`](GroupedQueue::change_group).
    fn end_rule(&self, key: impl Into<Bytes>) -> impl Future<Output = Result<()>> + Send {
        self.change_group(key.into(), GroupChange::NoRule)
    }

    /// Hands out none of a group's messages for this time, or until [`resume_group`](Self::resume_group). Messages
    /// under leases go on.
    ///
    /// # Errors
    ///
    /// The errors of [`change_group`](GroupedQueue::change_group).
    fn pause_group(
        &self,
        key: impl Into<Bytes>,
        lasts: Duration,
    ) -> impl Future<Output = Result<()>> + Send {
        self.change_group(key.into(), GroupChange::Pause(lasts))
    }

    /// Hands out a group's messages again.
    ///
    /// # Errors
    ///
    /// The errors of [`change_group`](GroupedQueue::change_group).
    fn resume_group(&self, key: impl Into<Bytes>) -> impl Future<Output = Result<()>> + Send {
        self.change_group(key.into(), GroupChange::Resume)
    }
}

impl<Q: GroupedQueue + ?Sized> GroupedQueueExt for Q {}

/// Whether the messages of a group wait for each other (G2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GroupOrder {
    /// One message of a group at a time, and the next when that is acked or dead: also while it waits for its retry.
    #[default]
    Strict,
    /// A message that waits for its retry holds up no other of its group, and several may be under leases.
    Loose,
}

impl fmt::Display for GroupOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Strict => "strict",
            Self::Loose => "loose",
        })
    }
}

/// The effect of a message's death on its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnDeath {
    /// The next message of the group is handed out.
    #[default]
    Continue,
    /// The group is *parked*: it hands out nothing until someone [resumes](GroupChange::Resume) it. This is for groups
    /// whose messages make no sense without those before them, such as the entries of a ledger.
    Park,
}

impl fmt::Display for OnDeath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Continue => "continue",
            Self::Park => "park",
        })
    }
}

/// A grouped queue's configuration.
///
/// ```
/// use queue_core::{GroupOrder, GroupedConfig};
///
/// let strict = GroupedConfig::default();
/// assert_eq!((strict.order, strict.per_group), (GroupOrder::Strict, 1));
///
/// let three_at_once = GroupedConfig::loose(3);
/// assert!(three_at_once.check().is_ok());
/// assert!(GroupedConfig::loose(0).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GroupedConfig {
    /// Attempts, dead letters, limits of the whole queue, and body size.
    pub leasing: LeasingConfig,
    /// Whether the messages of a group wait for each other (G2). Strict by default.
    pub order: GroupOrder,
    /// The most messages of one group under leases (G1). One by default; always one in strict order.
    pub per_group: u32,
    /// The effect of a message's death on its group (G2).
    pub on_death: OnDeath,
    /// The messages of each group that are handed out in a time (Q3). No limit by default.
    pub group_rate: Option<LeaseRate>,
}

impl Default for GroupedConfig {
    fn default() -> Self {
        Self {
            leasing: LeasingConfig::default(),
            order: GroupOrder::Strict,
            per_group: 1,
            on_death: OnDeath::Continue,
            group_rate: None,
        }
    }
}

impl GroupedConfig {
    leasing_setters!();

    /// Loose order, with at most `per_group` messages of a group under leases.
    #[must_use]
    pub fn loose(per_group: u32) -> Self {
        Self {
            order: GroupOrder::Loose,
            per_group,
            ..Self::default()
        }
    }

    /// With this effect of a message's death on its group.
    #[must_use]
    pub const fn with_on_death(mut self, on_death: OnDeath) -> Self {
        self.on_death = on_death;
        self
    }

    /// With at most `most` messages of each group handed out in each `per`, over all consumers (Q3). Redeliveries count.
    ///
    /// A group's [rule](GroupRule::with_rate) may give it another rate.
    #[must_use]
    pub const fn with_group_rate(mut self, most: u32, per: Duration) -> Self {
        self.group_rate = Some(LeaseRate::new(most, per));
        self
    }

    /// The error of another order, or of another number for each group, while the queue has messages.
    pub fn order_of_held(held: u64) -> Error {
        Error::invalid(format!(
            "another order or per_group while the queue has {held} messages would change which of them may run: \
             change it when the queue is empty"
        ))
    }

    /// Checks the limits, as every open does first.
    ///
    /// # Errors
    ///
    /// `Invalid`, naming the value.
    pub fn check(&self) -> Result<()> {
        self.leasing.check()?;
        check_group_rate(self.group_rate)?;
        match (self.order, self.per_group) {
            (_, 0) => Err(Error::invalid(
                "a per_group of 0 would never hand out anything: at least 1; pause the queue instead",
            )),
            (GroupOrder::Strict, 2..) => Err(Error::invalid(format!(
                "a per_group of {} in strict order, which hands out one message of a group at a time: take \
                 GroupedConfig::loose",
                self.per_group
            ))),
            _ => Ok(()),
        }
    }

    /// Checks this against the stored configuration.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch`, naming both values.
    pub fn check_stored(&self, stored: &Self) -> Result<()> {
        self.leasing.check_stored(&stored.leasing)?;
        same("order", stored.order, self.order)?;
        same("per_group", stored.per_group, self.per_group)?;
        same("on_death", stored.on_death, self.on_death)?;
        same(
            "group_rate",
            Limit(stored.group_rate),
            Limit(self.group_rate),
        )
    }
}

fn check_group_rate(rate: Option<LeaseRate>) -> Result<()> {
    rate.map_or(Ok(()), |rate| rate.check("a group's rate", "group"))
}
