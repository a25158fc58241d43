//! Cases that told a wrong queue from a right one, shrunk, and kept as operations: unlike a seed
//! they outlive a change of the strategies.

use std::time::Duration;

use queue_core::{
    BoundedConfig, DelayConfig, PriorityConfig, ReliableConfig, RotatingConfig, limits::MAX_BATCH,
};
use queue_sim::model::{
    BoundedDriver, BoundedOp, DelayDriver, DelayOp, Drive, How, IdRef, Jump, LeasingOp, Parcel,
    PriorityDriver, PriorityOp, ReceiptRef, ReliableDriver, ReliableOp, RotatingDriver, RotatingOp,
    Round,
};

use crate::cases::run;

const SOON: Duration = Duration::from_millis(10);
const LATER: Duration = Duration::from_millis(20);

fn check<D: Drive>(config: &D::Config, ops: &[D::Op]) {
    if let Err(divergence) = run::<D>(config, ops) {
        panic!("{divergence}");
    }
}

fn leased_for(ttl: Duration) -> Round {
    Round {
        keys: None,
        ttl: Some(ttl),
        how: None,
    }
}

/// Two hundred and fifty-six leases expire at once; the receipt is of one beyond the 128 that the
/// call reclaims.
#[test]
fn a_lease_that_expired_is_lost_before_it_is_reclaimed() {
    let rounds = || LeasingOp::Burst(vec![leased_for(SOON), leased_for(LATER)]);
    let wait = || LeasingOp::Advance(Jump::By(20));
    let ack = || LeasingOp::Settle(vec![(ReceiptRef::Seen(0), How::Ack)]);
    check::<ReliableDriver>(
        &ReliableConfig::default(),
        &[rounds(), wait(), ack()].map(ReliableOp::Leasing),
    );
    check::<DelayDriver>(
        &DelayConfig::default(),
        &[rounds(), wait(), ack()].map(DelayOp::Leasing),
    );
    check::<PriorityDriver>(
        &PriorityConfig::default(),
        &[rounds(), wait(), ack()].map(PriorityOp::Leasing),
    );
}

#[test]
fn an_expired_lease_beyond_128_is_not_cancelled() {
    check::<DelayDriver>(
        &DelayConfig::default(),
        &[
            DelayOp::Leasing(LeasingOp::Burst(vec![leased_for(SOON), leased_for(LATER)])),
            DelayOp::Leasing(LeasingOp::Advance(Jump::By(20))),
            DelayOp::Cancel(vec![IdRef::Seen(0), IdRef::Seen(MAX_BATCH)]),
        ],
    );
}

/// More marks end at once than one call need clear away.
#[test]
fn a_dedup_mark_has_ended_before_it_is_cleared_away() {
    let keyed = |keys| Round {
        keys: Some(keys),
        ttl: None,
        how: None,
    };
    check::<ReliableDriver>(
        &ReliableConfig::default(),
        &[
            ReliableOp::Leasing(LeasingOp::Burst(vec![keyed(0), keyed(100)])),
            ReliableOp::Leasing(LeasingOp::Advance(Jump::By(19))),
            ReliableOp::Leasing(LeasingOp::Burst(vec![keyed(100)])),
            ReliableOp::Leasing(LeasingOp::Advance(Jump::By(1))),
            ReliableOp::Leasing(LeasingOp::Burst(vec![keyed(122)])),
        ],
    );
}

#[test]
fn nothing_is_revived_into_a_full_queue() {
    check::<BoundedDriver>(
        &BoundedConfig::new(300).with_max_attempts(1),
        &[
            BoundedOp::Leasing(LeasingOp::Burst(vec![leased_for(SOON)])),
            BoundedOp::Leasing(LeasingOp::Settle(vec![(
                ReceiptRef::Seen(1),
                How::Retry(Duration::ZERO),
            )])),
            BoundedOp::Resize(1),
            BoundedOp::Leasing(LeasingOp::Revive(vec![IdRef::Seen(1)])),
        ],
    );
}

#[test]
fn the_pace_counts_from_the_last_visit() {
    check::<RotatingDriver>(
        &RotatingConfig::default().with_pace(Duration::from_millis(1)),
        &[
            RotatingOp::Insert(vec![(Parcel::PLAIN.body, None)]),
            RotatingOp::Rotate(1),
            RotatingOp::Advance(Jump::By(2)),
            RotatingOp::Rotate(1),
            RotatingOp::Rotate(1),
        ],
    );
}
