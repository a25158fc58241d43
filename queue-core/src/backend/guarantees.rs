//! The calls that a queue has, and the rules of the contract that it keeps.

use std::{collections::BTreeSet, fmt};

use crate::{
    Disposition, Error, ErrorKind, Insert, Overflow, Push, QueueConfig, QueueKind, Result,
    Settlement, call::Call,
};

/// The calls that a queue has, and the rules that it keeps less well than `CONTRACT.md` says.
///
/// A backend of this library has all calls and keeps all rules ([`Guarantees::all`]). A *recipe*, a
/// published strategy kept for comparison and migration, has fewer, and says here which rule it
/// breaks, when and why. The conformance suite, the simulator and the table of strategies ask this
/// and never a name.
///
/// ```
/// use queue_core::{Feature, Guarantees, Push, QueueKind, Condition, call::Call};
///
/// let list = Guarantees::all("list", QueueKind::Reliable)
///     .without_calls(["purge"])
///     .without(Feature::Headers)
///     .caveat("L11", Condition::NoFaults, "a retry has no delay");
/// assert!(list.keeps("L5") && !list.keeps("L11"));
///
/// let push = Push::new("charge order 42").with_header("tenant", "acme");
/// let error = list.check(&Call::Push(vec![push])).unwrap_err();
/// assert!(error.to_string().contains("headers"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guarantees {
    /// The strategy's name.
    pub name: &'static str,
    /// The kind of queue.
    pub kind: QueueKind,
    /// The methods that it has, by [`Call::name`].
    pub calls: BTreeSet<&'static str>,
    /// The features that those methods do not accept.
    pub lacking: BTreeSet<Feature>,
    /// The priorities that a message may have; empty for all.
    pub priorities: Vec<i16>,
    /// The rules that it breaks.
    pub caveats: Vec<Caveat>,
}

/// A part of the traits that a strategy may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Feature {
    /// Messages may carry headers.
    Headers,
    /// Messages may carry dedup keys (L9).
    Dedup,
    /// A dedup mark may end with its message (L9).
    Unique,
    /// Messages may carry due times on other kinds than delay queues (D1).
    Due,
    /// Messages may have a time to live (L17).
    TimeToLive,
    /// Messages may carry distinct keys (B7), and items keys (T2).
    Keys,
    /// A full queue may refuse a message (B3), besides dropping the oldest.
    Reject,
    /// [`Disposition::Retry`].
    Retry,
    /// [`Disposition::Defer`].
    Defer,
    /// [`Disposition::Release`].
    Release,
    /// [`Disposition::Bury`].
    Bury,
    /// [`Disposition::AckWith`]: an ack may keep a result (S1).
    Results,
    /// Extensions may carry progress (L19).
    Progress,
    /// A holder may store a state with its message (L21).
    State,
    /// A lease ends at its deadline (L7): without this, a holder has its message until it settles.
    Expiry,
    /// A client may hold several messages at once.
    Several,
    /// A receipt settles through every handle of the queue.
    SharedReceipts,
    /// One call hands out no more than 8 MiB.
    Sizes,
    /// Ids count up in the order of arrival. Without this an id is a name, and equal names have one.
    Ids,
    /// A due message is ready at once. Without this it waits until something moves it.
    AtOnce,
    /// A queue may have a limit at once and a rate, and its groups may have rates (Q1 to Q3).
    Limits,
    /// An open stores the configuration, a later one compares it, a listing shows the queue, and it
    /// can be opened as it is stored.
    Stored,
    /// The queue is one: its order, its capacity, and the bounds of a call (128 and 8 MiB) are those of all
    /// its messages. Without this each partition has its own.
    Whole,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Headers => "headers",
            Self::Dedup => "dedup keys",
            Self::Unique => "dedup keys that end with their messages",
            Self::Due => "due times",
            Self::TimeToLive => "times to live",
            Self::Keys => "distinct keys",
            Self::Reject => "refusal of a message for want of room: it drops the oldest",
            Self::Retry => "retry",
            Self::Defer => "defer",
            Self::Release => "release",
            Self::Bury => "bury",
            Self::Results => "ack with a result",
            Self::Progress => "progress of a lease",
            Self::State => "states of messages",
            Self::Expiry => "leases that expire",
            Self::Several => "several messages at once for one client",
            Self::SharedReceipts => "receipts that other handles know",
            Self::Sizes => "a bound on the bytes that one call hands out",
            Self::Ids => "ids in the order of arrival",
            Self::AtOnce => "messages that are ready as soon as they are due",
            Self::Limits => "limits of a queue (at once, rate)",
            Self::Stored => "stored configuration",
            Self::Whole => "one order, capacity and bound of all its messages",
        })
    }
}

/// A rule that a strategy breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Caveat {
    /// The rule's number in `CONTRACT.md`.
    pub rule: &'static str,
    /// When the rule breaks.
    pub when: Condition,
    /// Why, in a sentence.
    pub because: &'static str,
}

/// The condition under which a rule breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Condition {
    /// No fault: several clients at once, or a consumer that stops while it holds something.
    NoFaults,
    /// Two messages with the same body.
    EqualBodies,
    /// A client whose clock is ahead of the others'.
    ClockAhead,
    /// Always: the strategy lacks the subject of the rule.
    Absent,
    /// The queue has several partitions: each keeps the rule for itself.
    Partitions,
    /// This fault, by the simulator's name for it: *crashed*, *reply lost* …
    Fault(&'static str),
}

impl Guarantees {
    /// All calls of the kind, all features, and every rule kept.
    pub fn all(name: &'static str, kind: QueueKind) -> Self {
        Self {
            name,
            kind,
            calls: Call::names(kind).collect(),
            lacking: BTreeSet::new(),
            priorities: Vec::new(),
            caveats: Vec::new(),
        }
    }

    /// The same with these methods alone.
    #[must_use]
    pub fn only_calls(mut self, names: impl IntoIterator<Item = &'static str>) -> Self {
        let names: BTreeSet<_> = names.into_iter().collect();
        self.calls.retain(|name| names.contains(name));
        self
    }

    /// The same without these methods.
    #[must_use]
    pub fn without_calls(mut self, names: impl IntoIterator<Item = &'static str>) -> Self {
        for name in names {
            self.calls.remove(name);
        }
        self
    }

    /// The same without this feature.
    #[must_use]
    pub fn without(mut self, feature: Feature) -> Self {
        self.lacking.insert(feature);
        self
    }

    /// The same, with a rule that it breaks.
    #[must_use]
    pub fn caveat(mut self, rule: &'static str, when: Condition, because: &'static str) -> Self {
        self.caveats.push(Caveat {
            rule,
            when,
            because,
        });
        self
    }

    /// Whether the queue has all calls and features of its kind, and keeps every rule.
    pub fn is_all(&self) -> bool {
        let all = Self::all(self.name, self.kind);
        *self == all
    }

    /// Whether the queue has `feature`.
    pub fn has(&self, feature: Feature) -> bool {
        !self.lacking.contains(&feature)
    }

    /// Whether the queue keeps `rule` under every condition.
    pub fn keeps(&self, rule: &str) -> bool {
        self.broken(rule).is_none()
    }

    /// The first entry of [`caveats`](Self::caveats) for this rule.
    pub fn broken(&self, rule: &str) -> Option<&Caveat> {
        self.caveats.iter().find(|caveat| caveat.rule == rule)
    }

    /// Checks that the queue has all that `call` asks for, for its whole batch.
    ///
    /// # Errors
    ///
    /// `Configuration` for a method, a disposition or a policy that the queue lacks; `Invalid` for a part of
    /// a message that it cannot store. The error names what is missing.
    pub fn check(&self, call: &Call) -> Result<()> {
        if !self.calls.contains(call.name()) {
            return Err(self.lacks(call.name()));
        }
        match call {
            Call::Push(messages) => messages.iter().try_for_each(|push| self.check_push(push))?,
            Call::Insert(items) => items.iter().try_for_each(|item| self.check_item(item))?,
            Call::Settle(settlements) | Call::SettleAndLease(settlements, ..) => settlements
                .iter()
                .try_for_each(|each| self.check_settlement(each))?,
            Call::Extend(extensions, _) => {
                let reported = extensions.iter().any(|each| each.progress.is_some());
                self.place_for(Feature::Progress, reported)?;
                let stored = extensions.iter().any(|each| each.state.is_some());
                self.place_for(Feature::State, stored)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that the queues have all that a configuration asks for. A backend that lacks a feature calls this in its
    /// opens.
    ///
    /// # Errors
    ///
    /// `Invalid`, naming the feature.
    pub fn check_config(&self, config: &QueueConfig) -> Result<()> {
        let leasing = config.leasing();
        let limited = leasing.is_some_and(|one| one.at_once.is_some() || one.rate.is_some());
        let of_groups =
            matches!(config, QueueConfig::Grouped(config) if config.group_rate.is_some());
        self.place_for(Feature::Limits, limited || of_groups)
    }

    fn check_push(&self, push: &Push) -> Result<()> {
        self.place_for(Feature::Headers, !push.headers.is_empty())?;
        self.place_for(Feature::Dedup, push.dedup.is_some())?;
        let until_done = push.dedup.as_ref().is_some_and(|dedup| dedup.until_done);
        self.place_for(Feature::Unique, until_done)?;
        let delayed = push.due.is_some() && self.kind != QueueKind::Delay;
        self.place_for(Feature::Due, delayed)?;
        self.place_for(Feature::Keys, push.distinct.is_some())?;
        self.place_for(Feature::TimeToLive, push.time_to_live.is_some())?;
        if self.kind == QueueKind::Priority {
            self.check_priority(push.priority.unwrap_or(0))?;
        }
        let rejects = self.kind == QueueKind::Bounded && push.overflow == Overflow::Reject;
        match rejects && !self.has(Feature::Reject) {
            true => Err(self.lacks(Feature::Reject)),
            false => Ok(()),
        }
    }

    fn check_item(&self, item: &Insert) -> Result<()> {
        self.place_for(Feature::Headers, !item.headers.is_empty())?;
        self.place_for(Feature::Keys, item.key.is_some())
    }

    fn check_priority(&self, priority: i16) -> Result<()> {
        if self.priorities.is_empty() || self.priorities.contains(&priority) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "a priority of {priority}: {} has only {:?}",
            self.name, self.priorities
        )))
    }

    fn check_settlement(&self, settlement: &Settlement) -> Result<()> {
        self.place_for(Feature::State, settlement.state.is_some())?;
        let feature = match settlement.disposition {
            Disposition::Ack => return Ok(()),
            Disposition::Retry { .. } => Feature::Retry,
            Disposition::Defer { .. } => Feature::Defer,
            Disposition::Release => Feature::Release,
            Disposition::Bury { .. } => Feature::Bury,
            Disposition::AckWith(_) => Feature::Results,
        };
        match self.has(feature) {
            true => Ok(()),
            false => Err(self.lacks(feature)),
        }
    }

    fn place_for(&self, feature: Feature, asked: bool) -> Result<()> {
        if !asked || self.has(feature) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{} has no place for {feature}: leave them out, or use the default {} queue",
            self.name, self.kind
        )))
    }

    fn lacks(&self, what: impl fmt::Display) -> Error {
        let message = format!(
            "{} has no {what}: the default {} queue has",
            self.name, self.kind
        );
        Error::new(ErrorKind::Configuration, message)
    }
}
