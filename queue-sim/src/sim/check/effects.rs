use std::collections::{BTreeMap, BTreeSet};

use queue_core::{QueueConfig, QueueName, call::Call};

use super::{Check, Finding};
use crate::{
    plan::Process,
    sim::{Effect, RunRecord},
};

/// A check of the effects on the [ledgers](crate::sim::Ledger).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effects(Count);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    ExactlyOnce,
    AtMostOnce,
}

impl Effects {
    /// No key has two effects, and each ledger has as many effects as messages were accepted. It may have one more for
    /// each message whose producer did not learn the outcome, and one less for each message that was cancelled, evicted
    /// or outdated, or that died.
    ///
    /// With several queues, a ledger's messages are the messages of queues whose workers write in it. If some messages
    /// have no effect on a ledger, use [`at_most_once`](Self::at_most_once) and [your own check](super::that).
    ///
    /// Leases alone cannot give this (L1): the sink must deduplicate by the key.
    pub const fn exactly_once() -> Self {
        Self(Count::ExactlyOnce)
    }

    /// No key has two effects.
    pub const fn at_most_once() -> Self {
        Self(Count::AtMostOnce)
    }

    const fn name(self) -> &'static str {
        match self.0 {
            Count::ExactlyOnce => "effects exactly once",
            Count::AtMostOnce => "effects at most once",
        }
    }
}

impl Check for Effects {
    fn check(&self, run: &RunRecord) -> Vec<Finding> {
        let mut by_key: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (index, Effect { ledger, key, .. }) in run.effects.iter().enumerate() {
            by_key.entry((ledger, key)).or_default().push(index);
        }
        let mut findings = Vec::new();
        for ((ledger, key), effects) in &by_key {
            if effects.len() > 1 {
                let message = format!("{ledger} {key} happened {} times", effects.len());
                findings.push(Finding {
                    effects: effects.clone(),
                    ..Finding::new(self.name(), message)
                });
            }
        }
        if self.0 == Count::ExactlyOnce && findings.is_empty() && run.drained.is_some() {
            findings.extend(miscounted(run));
        }
        findings
    }
}

/// A ledger with too few or too many effects.
fn miscounted(run: &RunRecord) -> Option<Finding> {
    let rule = Effects::exactly_once().name();
    let bounds = bounds(run);
    if run.ledgers.is_empty() {
        let least: u64 = bounds.values().map(|bounds| bounds.least).sum();
        let message = format!("no effect at all, for {least} accepted messages");
        return (least > 0).then(|| Finding::new(rule, message));
    }
    let mut wrong = Vec::new();
    for ledger in run.ledgers.keys() {
        let on = run.effects.iter().filter(|each| each.ledger == *ledger);
        let keys: BTreeSet<&str> = on.map(|each| &*each.key).collect();
        let effects = keys.len() as u64;
        let queues = queues_behind(run, ledger, &bounds);
        let of = match queues.len() == bounds.len() {
            true => String::new(),
            false => {
                let names: Vec<&str> = queues.iter().map(|queue| queue.as_str()).collect();
                format!(" of {}", names.join(" and "))
            }
        };
        let least: u64 = queues.iter().map(|queue| bounds[queue].least).sum();
        let most: u64 = queues.iter().map(|queue| bounds[queue].most).sum();
        if effects < least {
            let message = format!(
                "{effects} effects on {ledger}, for {least} messages{of} that were accepted and \
                 neither withdrawn nor given up"
            );
            wrong.push((effects, message));
        } else if effects > most {
            let message = format!("{effects} effects on {ledger}, for {most} messages{of} at most");
            wrong.push((effects, message));
        }
    }
    let (_, message) = wrong.into_iter().min()?;
    Some(Finding::new(rule, message))
}

/// The least and the greatest number of effects that a queue's messages can have had.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    least: u64,
    most: u64,
}

fn bounds(run: &RunRecord) -> BTreeMap<&QueueName, Bounds> {
    let queues = run.queues.iter();
    let leasing = queues.filter(|(_, config)| !matches!(config, QueueConfig::Rotating(_)));
    let each = leasing.map(|(name, _)| {
        let fates = run.fates(name);
        let dead = run.dead.keys().filter(|(queue, _)| queue == name);
        let counters = run.counters.get(name);
        let outdated = counters.map_or(0, |counters| counters.outdated);
        let gone = (fates.withdrawn.len() + dead.count()) as u64 + outdated;
        let accepted = fates.accepted.len() as u64;
        let bounds = Bounds {
            least: accepted.saturating_sub(gone),
            most: accepted + fates.unknown,
        };
        (name, bounds)
    });
    each.collect()
}

/// The queues whose messages have effects on this ledger. The processes that wrote in the ledger serve these queues. If
/// no process wrote in it, the processes that opened it do.
fn queues_behind<'a>(
    run: &'a RunRecord,
    ledger: &str,
    bounds: &BTreeMap<&'a QueueName, Bounds>,
) -> BTreeSet<&'a QueueName> {
    let on = run.effects.iter().filter(|each| &*each.ledger == ledger);
    let wrote: BTreeSet<Process> = on.map(|each| each.process).collect();
    let nobody = wrote.is_empty();
    let processes = if nobody { &run.ledgers[ledger] } else { &wrote };
    let records = run.history.records.iter();
    let serves = records.filter(|record| {
        let takes = matches!(record.call, Call::Lease(..) | Call::SettleAndLease(..));
        takes && processes.contains(&record.process) && bounds.contains_key(&record.queue)
    });
    let served: BTreeSet<&QueueName> = serves.map(|record| &record.queue).collect();
    if served.is_empty() && !nobody {
        return bounds.keys().copied().collect();
    }
    served
}
