//! Operations that every leasing queue has.

use std::time::Duration;

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::amounts::{count, delay, jump, page, ttl};
use crate::model::{BadCall, How, IdRef, LeasingOp, ReceiptRef, Round};

pub(super) fn leasing() -> impl Strategy<Value = LeasingOp> {
    prop_oneof![
        16 => jump().prop_map(LeasingOp::Advance),
        16 => (count(), ttl()).prop_map(|(max, ttl)| LeasingOp::Lease(max, ttl)),
        16 => settlements().prop_map(LeasingOp::Settle),
        6 => (settlements(), count(), ttl())
            .prop_map(|(batch, max, ttl)| LeasingOp::Turn(batch, max, ttl)),
        4 => (receipts(), ttl()).prop_map(|(batch, ttl)| LeasingOp::Extend(batch, ttl)),
        4 => (page(), any::<bool>())
            .prop_map(|(limit, go_on)| LeasingOp::DeadLetters { limit, go_on }),
        4 => ids().prop_map(LeasingOp::Revive),
        2 => ids().prop_map(LeasingOp::Discard),
        1 => Just(LeasingOp::Pause),
        2 => Just(LeasingOp::Resume),
        2 => purge().prop_map(LeasingOp::Purge),
        4 => vec(round(), 1..=3).prop_map(LeasingOp::Burst),
        1 => bad_call().prop_map(LeasingOp::Bad),
    ]
}

pub(super) fn id() -> impl Strategy<Value = IdRef> {
    prop_oneof![
        20 => (0..=9_usize).prop_map(IdRef::Seen),
        2 => (0..=999_usize).prop_map(IdRef::Seen),
        1 => select(vec![0, 999_999, u64::MAX]).prop_map(IdRef::MadeUp),
    ]
}

pub(super) fn ids() -> impl Strategy<Value = Vec<IdRef>> {
    prop_oneof![30 => vec(id(), 1..=4), 1 => Just(Vec::new())]
}

fn receipt() -> impl Strategy<Value = ReceiptRef> {
    prop_oneof![
        30 => (0..=4_usize).prop_map(ReceiptRef::Seen),
        6 => (0..=999_usize).prop_map(ReceiptRef::Seen),
        2 => (0..=4_usize, 0..=4_usize).prop_map(|(id, token)| ReceiptRef::Crossed(id, token)),
        2 => (0..=4_usize, select(vec![-1, 1])).prop_map(|(back, by)| ReceiptRef::Shifted(back, by)),
        1 => (0..=9_u64, select(vec![0, 1, u64::MAX]))
            .prop_map(|(id, token)| ReceiptRef::MadeUp(id, token)),
    ]
}

fn receipts() -> impl Strategy<Value = Vec<ReceiptRef>> {
    prop_oneof![30 => vec(receipt(), 1..=4), 1 => Just(Vec::new())]
}

fn settlements() -> impl Strategy<Value = Vec<(ReceiptRef, How)>> {
    prop_oneof![30 => vec((receipt(), how()), 1..=4), 1 => Just(Vec::new())]
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        4 => Just(How::Ack),
        6 => delay().prop_map(How::Retry),
        3 => delay().prop_map(How::Defer),
        4 => Just(How::Release),
        // One byte and 512 characters of two are cut to 1,023 bytes.
        2 => select(vec![0, 1, 511, 512]).prop_map(How::Bury),
    ]
}

/// Rounds whose messages come back together, or one round after another.
fn round() -> impl Strategy<Value = Round> {
    let few = || select(vec![10, 20]).prop_map(Duration::from_millis);
    let how = prop_oneof![few().prop_map(How::Retry), few().prop_map(How::Defer)];
    let keys = option::weighted(0.3, select(vec![0, 100]));
    (
        keys,
        option::weighted(0.9, few()),
        option::weighted(0.4, how),
    )
        .prop_map(|(keys, ttl, how)| Round { keys, ttl, how })
}

fn purge() -> impl Strategy<Value = usize> {
    prop_oneof![10 => 1..=3_usize, 2 => Just(1_000), 1 => Just(1_001)]
}

fn bad_call() -> impl Strategy<Value = BadCall> {
    select(vec![
        BadCall::SettleTooMany,
        BadCall::TurnTooMany,
        BadCall::ExtendTooMany,
        BadCall::ReviveTooMany,
        BadCall::DiscardTooMany,
        BadCall::PushTooMany,
    ])
}
