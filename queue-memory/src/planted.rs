//! Bugs for a simulator to find. Never enable the feature `planted` for anything else.
//!
//! A check that finds nothing proves little unless it also finds a planted bug. Each [`Bug`] is one that
//! queues have had. While a bug is [`plant`]ed, every queue that this thread calls has it.
//!
//! The code states its rule without the bugs. A hook is a line of its own. While its bug is planted,
//! `planted!(ExtendTakesTheLater => deadline = deadline.max(old))` replaces a value, and
//! `planted!(PopWithoutALease => return)` runs another statement. Longer bugs are in a file `planted` beside
//! the code. Without the feature, no hook is compiled. A bug that shows in answers alone needs no hook: a
//! layer in front of the queue has it.

use std::{cell::Cell, marker::PhantomData, rc::Rc};

/// A bug of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bug {
    /// A message's id alone settles and extends the lease on it.
    AckIgnoresTheToken,
    /// A lease lives while now ≤ deadline.
    LiveAtItsDeadline,
    /// Settling does not reclaim first and ignores the deadline.
    AckAfterExpiry,
    /// Extending does not reclaim first, and ignores the deadline.
    ExtendRevivesTheExpired,
    /// Two deliveries within a millisecond have the same token.
    TokenReused,
    /// Retry, defer and release return success and leave the lease as it is.
    NackKeepsItsLease,
    /// No lease expires.
    PopWithoutALease,
    /// A lease counts from the push.
    TimedFromThePush,
    /// Extending never shortens a lease.
    ExtendTakesTheLater,
    /// A message that comes back goes to the tail; on a delay queue, before messages that were due
    /// earlier.
    ReturnedToTheWrongEnd,
    /// A promoted message goes before all others.
    PromotedToTheHead,
    /// A lease that expires costs no attempt.
    ExpiryIsFree,
    /// Releasing costs the attempt.
    ReleaseCharges,
    /// No message dies of its attempts.
    PoisonCircles,
    /// A delivery's age counts from the time from which ageing counts.
    AgeFromTheArrival,
    /// A delivery is called the last one attempt too early.
    LastAttemptComesEarly,
    /// A delivery has neither its priority nor its group.
    DeliveryHasNoValue,
    /// A paused queue hands out messages.
    LeasesWhilePaused,
    /// A lease below the limit at once hands out as many as were asked for.
    LimitIsCheckedBeforeTheBatch,
    /// A bucket of tokens fills twice as fast as its rate.
    TokensComeBackTwice,
    /// A duplicate makes the mark live a window longer.
    DuplicateExtendsTheMark,
    /// A mark that should end with its message does not.
    UniqueOutlivesItsMessage,
    /// Every mark ends with its message.
    MarksEndWithTheirMessages,
    /// A push refused for lack of room leaves a mark.
    RefusalLeavesAMark,
    /// A push checks capacity before marks.
    FullBeforeDuplicate,
    /// A full list of dead letters drops the new one.
    TrimDropsTheNewest,
    /// The queue keeps one dead letter more than the cap.
    DeadLetterTooMany,
    /// A revived message keeps its spent attempts.
    RevivalKeepsAttempts,
    /// A revived message has priority 0.
    RevivalLosesPriority,
    /// Reviving ignores the capacity.
    RevivalIgnoresCapacity,
    /// An expired lease keeps its place in its group.
    PlaceSurvivesItsLease,
    /// A group hands out any number of messages at once.
    GroupIgnoresItsLimit,
    /// A retried message goes to the tail of its strict group.
    RetriedToTheTailOfItsGroup,
    /// A new group has the first of all turns.
    NewGroupCatchesUp,
    /// A group that is empty stays, with its turn.
    EmptyGroupStays,
    /// A message that is taken out while it waits keeps its place in its group.
    WaitingKeepsItsPlace,
    /// A paused group hands out messages.
    PausedGroupRuns,
    /// The death of a message never parks its group.
    DeathParksNobody,
    /// Each group has the same share, whatever its weight.
    WeightIsIgnored,
    /// No caller waits for the end of a message that holds a place.
    FreedByAnEndUnseen,
    /// A rule of a group stays until another call ends it.
    RuleNeverEnds,
    /// Each delivery takes its token from the bucket of the first group.
    TokenOfAnotherGroup,
    /// With another rate, each group's bucket is full.
    AnotherRateFillsTheBucket,
    /// Nothing but a call ends a group's wait for a token.
    TokenOfAGroupUnseen,
    /// Of equally urgent messages, the queue hands out the last one first.
    LastInFirstOut,
    /// The queue hands out the latest due message first.
    LatestFirst,
    /// Of two messages due at once the one whose id sorts first as text goes first.
    TextualTies,
    /// A push with a due time joins the ready at once.
    DueIsIgnored,
    /// With ageing, a push with a due time arrives when it is pushed.
    DueArrivesAtItsPush,
    /// The queue ignores a time to live.
    OutdatedIsDelivered,
    /// A message that comes back from a lease never ends.
    OutdatedStaysAfterReturn,
    /// The end of a time to live takes a leased message out, too.
    LeasedIsEnded,
    /// Of outdated messages, the queue drops those that it should bury.
    BuriedIsDropped,
    /// A retry restarts the time to live.
    EndMovesWithRetry,
    /// Priority and arrival share 32 bits.
    PackingOverflows,
    /// A retried message keeps its arrival.
    RetryKeepsArrival,
    /// A change of the configuration allows no fewer attempts.
    AttemptsStay,
    /// A change of the configuration trims no dead letters.
    CapTrimsNothing,
    /// A retry keeps no reason.
    RetryForgetsWhy,
    /// A dead letter has the time of its death as the time of its push.
    PushedWhenItDied,
    /// A revived message keeps the reason of its last retry.
    RevivalKeepsWhy,
    /// An ack with a stale receipt stores its result.
    ResultWithoutItsAck,
    /// A result is there after its time.
    ResultOutlivesItsTime,
    /// A queue holds any number of results.
    ResultsWithoutBound,
    /// An extension with a stale receipt stores its progress.
    ProgressIgnoresTheToken,
    /// Progress stays after its lease.
    ProgressOutlivesItsLease,
    /// A state of a stale holder is stored.
    StateIgnoresTheToken,
    /// A message whose lease expires loses its state.
    ExpiryLosesTheState,
    /// A revived message has no state.
    RevivalLosesTheState,
    /// A message that is revived for a fresh start has its state.
    FreshKeepsTheState,
    /// An empty state leaves the last one.
    EmptyStateKeepsTheLast,
    /// The end of a message wakes no caller that waits for it.
    EndWakesNobody,
    /// Cancelling takes a leased message out, too.
    CancelsTheLeased,
    /// A cancelled message is not counted.
    CancelForgetsTheCount,
    /// A peek of the ready messages leaves out those that came back by release or expiry.
    PeekSkipsTheReturned,
    /// The queue accepts one message more than the capacity.
    CapacityOffByOne,
    /// Eviction drops the newest undelivered message instead of the next.
    EvictsTheNewest,
    /// Eviction drops a delayed message before ready ones.
    EvictsTheDelayed,
    /// Eviction drops a leased message if there is no other.
    EvictsTheLeased,
    /// A message with a distinct key goes before all others.
    KeyedGoesFirst,
    /// A delivery frees the message's distinct key.
    KeyFreedAtDelivery,
    /// A cancelled message keeps its distinct key, and the next push replaces it once more.
    CancelKeepsTheKey,
    /// A replaced message stays.
    ReplacedIsDelivered,
    /// A message has the place of the one that it replaces.
    ReplacementTakesThePlace,
    /// A message that is replaced while it waits keeps its place in its group.
    ReplacedKeepsItsPlace,
    /// A leased message keeps its distinct key though another message is pushed with it.
    LeasedKeepsTheKey,
    /// A longest wait counts from the last push.
    ChainForgetsItsStart,
    /// A longest wait counts from the first push, also of messages without one.
    ChainNeverEnds,
    /// A leased message gets another due time.
    MovesTheLeased,
    /// A message with another due time has spent no attempts.
    MovedForgetsItsAttempts,
    /// A message with another due time loses the reason of its last retry.
    MovedForgetsWhy,
    /// With ageing, a message with another due time keeps its arrival.
    MovedKeepsItsArrival,
    /// A message with another due time loses its place in its strict group.
    MovedLosesItsPlace,
    /// Another due time wakes nobody.
    MoveWakesNobody,
    /// A message that is moved to now keeps its due time.
    MoveIgnoresNow,
    /// Of a batch, only the first half gets another due time.
    MovesHalfABatch,
    /// A rotation visits a new item before all others.
    InsertedNearTheFront,
    /// Removing takes the item at the head, whatever its id.
    RemovesTheHead,
    /// A call visits an item twice.
    VisitsTwice,
    /// The pace counts from the item's due time, not from its visit.
    PaceFromTheDueTime,
    /// After a change of the pace an item is due as by the old pace.
    PaceKeepsDueTimes,
    /// Arrivals wake nobody.
    ArrivalWakesNobody,
    /// New room wakes nobody.
    RoomWakesNobody,
    /// A caller that waits for a later due time does not learn of an earlier one.
    EarlierWakesNobody,
    /// A removal does not wake waiting callers.
    RemovalWakesNobody,
    /// A removed queue stays in the list of queues.
    RemovedStaysListed,
    /// A notified caller leaves in a step of its own, and may be woken once more before that step.
    ToldBeforeItLeaves,
}

thread_local! {
    static BUG: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// A planted bug. Dropping this removes the bug.
#[derive(Debug)]
#[must_use]
pub struct Planted(PhantomData<Rc<()>>);

/// Plants a bug in all queues that this thread calls. A thread has one bug at a time.
pub fn plant(bug: Bug) -> Planted {
    BUG.set(Some(bug));
    Planted(PhantomData)
}

/// Does this work with another bug than the planted one.
pub(crate) fn instead<R>(bug: Bug, work: impl FnOnce() -> R) -> R {
    let planted = BUG.replace(Some(bug));
    let done = work();
    BUG.set(planted);
    done
}

impl Drop for Planted {
    fn drop(&mut self) {
        BUG.set(None);
    }
}

/// The planted bug.
pub(crate) fn bug() -> Option<Bug> {
    BUG.get()
}

/// Whether one of these bugs is planted.
pub(crate) fn is(bugs: &[Bug]) -> bool {
    bug().is_some_and(|bug| bugs.contains(&bug))
}
