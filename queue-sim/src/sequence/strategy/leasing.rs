//! Calls that every leasing queue has.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*, sample::select};
use queue_core::{
    Disposition, Extension, Holder, KeptResult, MessageId, Page, Place, Push, QueueKind, Receipt,
    Revival, Settlement, TimeToLive, Token,
    call::Call,
    limits::{MAX_BATCH, MAX_HOLDER, MAX_PROGRESS, MAX_STATE},
};

use super::{
    amounts::{count, delay, lease_time, most, page},
    messages::{large, numbered},
};
use crate::sequence::{Step, symbol};

pub(super) fn leasing() -> impl Strategy<Value = Call> {
    prop_oneof![
        16 => (count(), lease_time()).prop_map(|(max, lease_time)| Call::Lease(max, lease_time)),
        16 => settlements().prop_map(Call::Settle),
        6 => (settlements(), count(), lease_time(), holder())
            .prop_map(|(batch, max, lease_time, holder)| Call::SettleAndLease(batch, max, lease_time, holder)),
        5 => (receipts(), option::of(select(vec![1, 20, MAX_PROGRESS])), state(), lease_time()).prop_map(extend),
        5 => ids().prop_map(Call::Find),
        4 => pages().prop_map(Call::DeadLetters),
        4 => (ids(), select(vec![Revival::WithState, Revival::Fresh]))
            .prop_map(|(ids, revival)| Call::Revive(ids, revival)),
        2 => ids().prop_map(Call::Discard),
        1 => Just(Call::Pause),
        2 => Just(Call::Resume),
        2 => most().prop_map(Call::Purge),
        3 => ids().prop_map(Call::Cancel),
        6 => (place(), pages()).prop_map(|(place, page)| Call::Peek(place, page)),
        1 => too_many(),
    ]
}

pub(super) fn id() -> impl Strategy<Value = MessageId> {
    prop_oneof![
        20 => (0..=9_usize).prop_map(symbol::id),
        2 => (0..=999_usize).prop_map(symbol::id),
        1 => select(vec![0, 999_999, u64::MAX]).prop_map(MessageId::new),
    ]
}

pub(super) fn ids() -> impl Strategy<Value = Vec<MessageId>> {
    prop_oneof![30 => vec(id(), 1..=4), 1 => Just(Vec::new())]
}

/// The first page, or the page after the last one that the client read.
pub(super) fn pages() -> impl Strategy<Value = Page> {
    prop_oneof![
        page().prop_map(Page::first),
        page().prop_map(symbol::next_page),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    select(vec![Place::Ready, Place::Delayed, Place::Leased])
}

/// None, or a name: of one byte, or as long as a name may be.
fn holder() -> impl Strategy<Value = Option<Holder>> {
    let name = select(vec!["h".to_owned(), "é".repeat(MAX_HOLDER / 2)]);
    option::of(name.prop_map(|name| Holder::new(name).expect("a name of a good length")))
}

fn receipt() -> impl Strategy<Value = Receipt> {
    let made_up = |(id, token)| Receipt::new(MessageId::new(id), Token::new(token));
    prop_oneof![
        30 => (0..=4_usize).prop_map(symbol::receipt),
        6 => (0..=999_usize).prop_map(symbol::receipt),
        2 => (0..=4_usize, 0..=4_usize).prop_map(|(id, token)| symbol::crossed(id, token)),
        1 => (0..=4_usize).prop_map(symbol::too_old),
        1 => (0..=4_usize).prop_map(symbol::too_new),
        1 => (0..=9_u64, select(vec![0, 1, u64::MAX])).prop_map(made_up),
    ]
}

fn receipts() -> impl Strategy<Value = Vec<Receipt>> {
    prop_oneof![30 => vec(receipt(), 1..=4), 1 => Just(Vec::new())]
}

fn extend(
    (batch, length, state, lease_time): (Vec<Receipt>, Option<usize>, Option<Bytes>, Duration),
) -> Call {
    let progress = length.map(|length| Bytes::from(vec![b'%'; length]));
    let extension = |receipt| {
        let mut extension = Extension::new(receipt);
        extension.progress.clone_from(&progress);
        extension.state.clone_from(&state);
        extension
    };
    Call::Extend(batch.into_iter().map(extension).collect(), lease_time)
}

/// None, none in place of the last one, or a state: of one byte, or as long as a state may be.
fn state() -> impl Strategy<Value = Option<Bytes>> {
    let length = prop_oneof![2 => Just(0), 6 => Just(1), 1 => Just(MAX_STATE)];
    let letter = select(vec![b'a', b'b']);
    let state = (length, letter).prop_map(|(length, letter)| vec![letter; length].into());
    option::weighted(0.4, state)
}

fn settlements() -> impl Strategy<Value = Vec<Settlement>> {
    let settlement = (receipt(), disposition(), state());
    let settlement = settlement.prop_map(|(receipt, end, state)| {
        let state = state.filter(|_| !end.is_ack());
        let mut settlement = Settlement::new(receipt, end);
        settlement.state = state.map(Box::new);
        settlement
    });
    prop_oneof![30 => vec(settlement, 1..=4), 1 => Just(Vec::new())]
}

fn disposition() -> impl Strategy<Value = Disposition> {
    // A reason of one byte and 512 two-byte characters. A cut at 1,024 bytes would fall inside a
    // character, so the queue cuts it to 1,023.
    let reason = |letters| format!("x{}", "é".repeat(letters));
    let letters = || select(vec![0, 1, 511, 512]);
    let why = option::weighted(
        0.5,
        prop_oneof![
            1 => Just(String::new()),
            6 => letters().prop_map(reason),
        ],
    );
    prop_oneof![
        3 => Just(Disposition::Ack),
        3 => (letters(), lease_time(), 1..4_u32).prop_map(move |(letters, time, at_most)| {
            let mut kept = KeptResult::new(reason(letters), time);
            kept.at_most = NonZeroU32::new(at_most).unwrap_or(kept.at_most);
            Disposition::AckWith(Box::new(kept))
        }),
        6 => (delay(), why).prop_map(|(delay, reason)| Disposition::Retry { delay, reason }),
        3 => delay().prop_map(|delay| Disposition::Defer { delay }),
        4 => Just(Disposition::Release),
        2 => letters().prop_map(move |letters| Disposition::Bury { reason: reason(letters) }),
    ]
}

/// A call with more entries than it may carry; it must change nothing.
fn too_many() -> impl Strategy<Value = Call> {
    const TOO_MANY: usize = MAX_BATCH + 1;
    let second = Duration::from_secs(1);
    let receipts: Vec<Receipt> = (0..TOO_MANY).map(symbol::receipt).collect();
    let ids: Vec<MessageId> = (0..TOO_MANY).map(symbol::id).collect();
    let acks: Vec<Settlement> = receipts.iter().copied().map(Settlement::ack).collect();
    select(vec![
        Call::Settle(acks.clone()),
        Call::SettleAndLease(acks, NonZeroUsize::MIN, second, None),
        Call::Extend(Extension::all(&receipts), second),
        Call::Find(ids.clone()),
        Call::Revive(ids.clone(), Revival::WithState),
        Call::Cancel(ids.clone()),
        Call::Discard(ids),
    ])
}

/// One round of a [`burst`]: it puts in 128 messages, leases them, and settles them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Round {
    /// The messages have dedup keys from this number on, with a window of 20 ms. With `None`, they
    /// have none.
    pub keys: Option<u8>,
    /// The lease time. With `None`, the round leases nothing.
    pub lease_time: Option<Duration>,
    /// How each lease ends. With `None`, the round settles nothing.
    pub disposition: Option<Disposition>,
    /// The messages' time to live, if they have one.
    pub time_to_live: Option<TimeToLive>,
}

/// Rounds whose messages come back together, or round by round.
pub(super) fn round() -> impl Strategy<Value = Round> {
    let few = || select(vec![10, 20]).prop_map(Duration::from_millis);
    let disposition = prop_oneof![
        few().prop_map(|delay| Disposition::Retry {
            delay,
            reason: None
        }),
        few().prop_map(|delay| Disposition::Defer { delay }),
    ];
    let keys = option::weighted(0.3, select(vec![0, 100]));
    let lease_time = option::weighted(0.9, few());
    let outdating = prop_oneof![
        few().prop_map(TimeToLive::drop_after),
        few().prop_map(TimeToLive::bury_after),
    ];
    let disposition = option::weighted(0.4, disposition);
    let round = (
        keys,
        lease_time,
        disposition,
        option::weighted(0.3, outdating),
    );
    round.prop_map(|(keys, lease_time, disposition, time_to_live)| Round {
        keys,
        lease_time,
        disposition,
        time_to_live,
    })
}

/// Rounds of 128 messages, which show the bounds of 128 (L7, L11).
pub fn burst(kind: QueueKind, rounds: &[Round]) -> Vec<Step> {
    let mut calls = Vec::new();
    for round in rounds {
        calls.push(Call::put(kind, messages(round)));
        let Some(lease_time) = round.lease_time else {
            continue;
        };
        let all = NonZeroUsize::new(MAX_BATCH).unwrap_or(NonZeroUsize::MIN);
        calls.push(Call::Lease(all, lease_time));
        if let Some(disposition) = &round.disposition {
            let end = |back| Settlement::new(symbol::receipt(back), disposition.clone());
            calls.push(Call::Settle((0..MAX_BATCH).map(end).collect()));
        }
    }
    calls.into_iter().map(Step::Call).collect()
}

/// The messages of a round.
fn messages(round: &Round) -> Vec<Push> {
    let message = |n: usize| {
        let mut push = Push::new("p");
        push.time_to_live = round.time_to_live;
        match round.keys {
            Some(first) => {
                let key = numbered(((usize::from(first) + n) % 250) as u8);
                push.with_dedup(key, Duration::from_millis(20))
            }
            None => push,
        }
    };
    (0..MAX_BATCH).map(message).collect()
}

/// Puts in two messages that do not fit into one answer, peeks at them, and leases them.
pub(super) fn heavy(kind: QueueKind) -> Vec<Step> {
    let both = NonZeroUsize::MIN.saturating_add(1);
    let take = match kind {
        QueueKind::Rotating => Call::Rotate(both),
        _ => Call::Lease(both, Duration::from_millis(10)),
    };
    let put_in = || Call::put(kind, vec![large()]);
    let mut calls = vec![put_in(), put_in(), take];
    if kind != QueueKind::Rotating {
        calls.insert(2, Call::Peek(Place::Ready, Page::first(2)));
    }
    calls.into_iter().map(Step::Call).collect()
}
