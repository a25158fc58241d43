//! L1, L2, L3, L11: a message has one live lease. It comes again only for a cause, and not before its time.

use queue_core::{Disposition, QueueKind, Settled};

use super::Found;
use crate::check::facts::{Facts, Lease, MessageLife, What, millis};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        one_live_lease(life, found);
        for happened in life.iter() {
            if let What::Settled(_, disposition, Some(settled)) = happened.what {
                let later = life
                    .leases()
                    .filter(|lease| happened.span.before(&lease.span));
                for lease in later {
                    let spans = [&happened.span, &lease.span];
                    let id = life.id();
                    match (disposition, settled) {
                        (Disposition::Ack | Disposition::AckWith(_), Settled::Done) => {
                            found.push(Found::at(
                                "L3",
                                &spans,
                                format!("message {id} is delivered again after its ack"),
                            ));
                        }
                        (_, Settled::Dead) if !life.may_be_revived(&happened.span, &lease.span) => {
                            found.push(Found::at(
                                "L2",
                                &spans,
                                format!("message {id} is delivered, and it is dead"),
                            ));
                        }
                        (
                            Disposition::Retry { delay, .. } | Disposition::Defer { delay },
                            Settled::Done,
                        ) => {
                            let due = happened.span.earliest.saturating_add(millis(*delay));
                            let moved = life.may_be_moved(&happened.span, &lease.span);
                            let revived = life.may_be_revived(&happened.span, &lease.span);
                            if lease.span.clock < due && !moved && !revived {
                                let rule = match facts.kind() {
                                    QueueKind::Delay => "D1",
                                    _ => "L11",
                                };
                                found.push(Found::at(
                                    rule,
                                    &spans,
                                    format!(
                                        "message {id} returns at {}, due at {due}",
                                        lease.span.latest
                                    ),
                                ));
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

fn one_live_lease(life: MessageLife<'_, '_>, found: &mut Vec<Found>) {
    let mut last: Option<Lease<'_>> = None;
    for lease in life.leases() {
        if let Some(last) = last {
            let first = life.is_live(&last, &lease.span);
            let sure = last.span.before(&lease.span) || life.is_live(&lease, &last.span);
            if first && sure {
                found.push(Found::at(
                    "L1",
                    &[&last.span, &lease.span],
                    format!(
                        "message {} is delivered at {} with the token {}, and the lease with the \
                         token {} lasts until {}",
                        life.id(),
                        lease.span.latest,
                        lease.delivery.receipt.token,
                        last.delivery.receipt.token,
                        life.deadline(&last, &lease.span).0,
                    ),
                ));
            }
        }
        last = Some(lease);
    }
}
