//! The checks of each run: a removed queue's messages and receipts end with it (R1), and no process has
//! recorded a failure.

use std::collections::BTreeMap;

use queue_core::{
    Bytes, Receipt, Settled,
    call::{Answer, Call},
};
use queue_sim::{history::CallEnd, sim::RunRecord};

use crate::scene::NAME;

/// The removals that are known to be done: the orders of their beginnings and ends.
fn removals(run: &RunRecord) -> Vec<(u64, u64)> {
    let mut removals = Vec::new();
    let mut begun = BTreeMap::new();
    for effect in run
        .effects
        .iter()
        .filter(|effect| &*effect.ledger == "removals")
    {
        match &*effect.key {
            "begins" => drop(begun.insert(effect.process, effect.order)),
            _ => removals.extend(
                begun
                    .remove(&effect.process)
                    .map(|begun| (begun, effect.order)),
            ),
        }
    }
    removals
}

/// The calls answered before a removal began, and the calls made after it had ended.
pub(crate) fn survives(run: &RunRecord) -> Result<(), String> {
    let removals = removals(run);
    let is_between = |earlier: u64, later: u64| {
        let mut between = removals.iter();
        between.any(|(begun, ended)| earlier < *begun && *ended < later)
    };
    let mut leased: BTreeMap<Receipt, u64> = BTreeMap::new();
    let mut pushed: BTreeMap<Bytes, u64> = BTreeMap::new();
    for record in run
        .history
        .records
        .iter()
        .filter(|record| record.queue.as_str() == NAME)
    {
        let Some(ended) = &record.ended else { continue };
        let CallEnd::Ok(answer) = &ended.outcome else {
            continue;
        };
        match (&record.call, answer) {
            (Call::Push(batch), _) => {
                pushed.extend(batch.iter().map(|push| (push.body.clone(), ended.at.order)));
            }
            (_, Answer::Leased(answered)) => {
                for delivery in &answered.deliveries {
                    leased.insert(delivery.receipt, ended.at.order);
                }
            }
            _ => {}
        }
    }
    for record in run
        .history
        .records
        .iter()
        .filter(|record| record.queue.as_str() == NAME)
    {
        let Some(ended) = &record.ended else { continue };
        let (began, CallEnd::Ok(answer)) = (record.began.order, &ended.outcome) else {
            continue;
        };
        match (&record.call, answer) {
            (Call::Settle(batch), Answer::Settled(settled)) => {
                for (settlement, settled) in batch.iter().zip(settled) {
                    let granted = leased.get(&settlement.receipt).copied();
                    if *settled == Settled::Done && granted.is_some_and(|at| is_between(at, began))
                    {
                        let receipt = settlement.receipt;
                        return Err(format!("{receipt:?} settles after the queue was removed"));
                    }
                }
            }
            (_, Answer::Leased(answered)) => {
                for delivery in &answered.deliveries {
                    let at = pushed.get(&delivery.body).copied();
                    if at.is_some_and(|at| is_between(at, began)) {
                        let body = String::from_utf8_lossy(&delivery.body);
                        return Err(format!("{body:?} is delivered after the queue was removed"));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

pub(crate) fn no_complaints(run: &RunRecord) -> Result<(), String> {
    let mut broken = run
        .effects
        .iter()
        .filter(|effect| &*effect.ledger == "broken");
    broken
        .next()
        .map_or(Ok(()), |effect| Err(effect.key.clone()))
}
