//! The table of verbs: each method of the queue traits, and its call as data.
//!
//! Four things are made from the table: [`Call`]; a service as a queue ([`Front`]); a queue as a service
//! ([`AnyQueue`](crate::AnyQueue)); queues behind a pointer. Clippy refuses the crate if the table forgets a
//! method, also one with a default body: the slower default would quietly replace a backend's own.
//!
//! The methods have the form that `async_trait` gives them. A pointer returns the queue's own boxed future,
//! so a call through it costs no allocation.

use std::{fmt::Debug, num::NonZeroUsize, pin::Pin, sync::Arc, time::Duration};

use super::{Answer, Front, answer::Answered};
use crate::*;

type MaybeHolder = Option<Holder>;
type MaybeConfirmer = Option<Arc<dyn Confirmer>>;
type Answering<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The type of an argument in a call.
macro_rules! owned {
    ([$type:ty]) => { Vec<$type> };
    ($type:ty) => { $type };
}

/// The type of an argument of a method.
macro_rules! lent {
    ([$type:ty]) => { &'life1 [$type] };
    ($type:ty) => { $type };
}

/// An argument of a method, for a call.
macro_rules! own {
    ($arg:ident [$type:ty]) => {
        $arg.to_vec()
    };
    ($arg:ident $type:ty) => {
        $arg
    };
}

/// An argument of a call, for a method.
macro_rules! lend {
    ($arg:ident [$type:ty]) => {
        &$arg
    };
    ($arg:ident $type:ty) => {
        $arg
    };
}

/// A trait, the function that makes its calls on a queue, and its verbs: the method, its arguments, its
/// answer, and the call. A method that borrows an argument names the lifetime. An attribute of a queue
/// (`has`) is no call.
macro_rules! verbs {
    ($($trait:ident by $dispatch:ident or $otherwise:ident $(has $has:ident -> $value:ty,)? {$(
        $name:ident $(<$life:lifetime>)? $(($($arg:ident: $type:tt),+))? -> $answer:ty = $call:ident;
    )*})*) => {
        /// One call of a method of the queue traits.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is documented as the method of its name")]
        pub enum Call {
            $($($call $(($(owned!($type)),+))?,)*)*
            /// A call to the backend and not to a queue: [`open_or_resize`](crate::Backend::open_or_resize).
            /// A layer sees it in [`around`](super::Layer::around); a queue refuses it as `Invalid`.
            OpenOrResize(NonZeroUsize),
            /// A call to the backend, too: [`reconfigure`](crate::Backend::reconfigure). A layer sees
            /// it in [`around`](super::Layer::around).
            Reconfigure(QueueConfig),
        }

        impl Call {
            /// The name of the method.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($(Self::$call { .. } => stringify!($name),)*)*
                    Self::OpenOrResize(_) => "open_or_resize",
                    Self::Reconfigure(_) => "reconfigure",
                }
            }
        }

        /// The names of the verbs of each trait.
        struct Names {
            $($dispatch: &'static [&'static str],)*
        }

        const NAMES: Names = Names {
            $($dispatch: &[$(stringify!($name)),*],)*
        };

        $(
            /// Makes a call of this trait on a queue.
            pub(crate) async fn $dispatch<Q: $trait + ?Sized>(queue: &Q, call: Call) -> Result<Answer> {
                match call {
                    $(Call::$call $(($($arg),+))? => {
                        queue.$name($($(lend!($arg $type)),+)?).await.map(Answered::answer)
                    })*
                    call => $otherwise(queue, call).await,
                }
            }

            #[deny(clippy::missing_trait_methods)]
            impl $trait for Front {
                $(
                    fn $name<'life0, $($life,)? 'async_trait>(
                        &'life0 self,
                        $($($arg: lent!($type)),+)?
                    ) -> Answering<'async_trait, $answer>
                    where
                        'life0: 'async_trait,
                        $($life: 'async_trait,)?
                        Self: 'async_trait,
                    {
                        let call = Call::$call $(($(own!($arg $type)),+))?;
                        Box::pin(async move { Answered::of(self.service().call(call).await?) })
                    }
                )*

                $(fn $has(&self) -> $value {
                    self.service().$has()
                })?
            }

            pointers! {
                $trait $(has $has -> $value,)? {
                    $(fn $name $(<$life>)? ($($($arg: lent!($type)),+)?) -> $answer;)*
                }
            }
        )*
    };
}

/// `Arc<Q>` and `Box<Q>` are what `Q` is.
macro_rules! pointers {
    ($trait:ident $(has $has:ident -> $value:ty,)? { $($methods:tt)* }) => {
        pointers!(@for Arc, $trait, $(has $has -> $value,)? $($methods)*);
        pointers!(@for Box, $trait, $(has $has -> $value,)? $($methods)*);
    };
    (@for $pointer:ident, $trait:ident, $(has $has:ident -> $value:ty,)?
        $(fn $name:ident $(<$life:lifetime>)? ($($arg:ident: $type:ty),*) -> $answer:ty;)*
    ) => {
        #[deny(clippy::missing_trait_methods)]
        impl<Q: $trait + ?Sized> $trait for $pointer<Q> {
            $(
                fn $name<'life0, $($life,)? 'async_trait>(
                    &'life0 self,
                    $($arg: $type),*
                ) -> Answering<'async_trait, $answer>
                where
                    'life0: 'async_trait,
                    $($life: 'async_trait,)?
                    Self: 'async_trait,
                {
                    (**self).$name($($arg),*)
                }
            )*

            $(fn $has(&self) -> $value {
                (**self).$has()
            })?
        }
    };
}

verbs! {
    Leasing by leasing or missing has confirmer -> MaybeConfirmer, {
        push<'life1>(messages: [Push]) -> Vec<Pushed> = Push;
        reschedule<'life1>(ids: [MessageId], due: Due) -> Vec<Rescheduled> = Reschedule;
        lease(max: NonZeroUsize, lease_time: Duration) -> Leased = Lease;
        settle<'life1>(settlements: [Settlement]) -> Vec<Settled> = Settle;
        settle_and_lease<'life1>(settlements: [Settlement], max: NonZeroUsize, lease_time: Duration, holder: MaybeHolder)
            -> (Vec<Settled>, Leased) = SettleAndLease;
        extend<'life1>(extensions: [Extension], lease_time: Duration) -> Vec<Extended> = Extend;
        wait_for_arrival(timeout: Duration) -> () = WaitForArrival;
        wait_to_lease(lease_time: Duration, holder: MaybeHolder, timeout: Duration) -> Leased = WaitToLease;
        depth -> Depth = Depth;
        counters -> Counters = Counters;
        dead_letters(page: Page) -> Paged<DeadLetter> = DeadLetters;
        revive<'life1>(ids: [MessageId], revival: Revival) -> Vec<Revived> = Revive;
        discard<'life1>(ids: [MessageId]) -> u64 = Discard;
        pause -> () = Pause;
        resume -> () = Resume;
        purge(max: NonZeroUsize) -> u64 = Purge;
        cancel<'life1>(ids: [MessageId]) -> Vec<Cancelled> = Cancel;
        peek(place: Place, page: Page) -> Paged<Peeked> = Peek;
        find<'life1>(ids: [MessageId]) -> Vec<Found> = Find;
        wait_for_end(id: MessageId, timeout: Duration) -> () = WaitForEnd;
    }
    ReliableQueue by reliable or leasing {}
    DelayQueue by delay or leasing {
        next_due -> Option<Duration> = NextDue;
    }
    PriorityQueue by priority or leasing {}
    GroupedQueue by grouped or leasing {
        groups(page: Page) -> Paged<Group> = Groups;
        change_group(key: Bytes, change: GroupChange) -> () = ChangeGroup;
    }
    BoundedQueue by bounded or leasing {
        wait_for_room(timeout: Duration) -> () = WaitForRoom;
        recent(n: usize) -> Vec<Message> = Recent;
        capacity -> NonZeroUsize = Capacity;
        resize(capacity: NonZeroUsize) -> Vec<MessageId> = Resize;
    }
    RotatingQueue by rotating or missing has confirmer -> MaybeConfirmer, {
        insert<'life1>(items: [Insert]) -> Vec<Inserted> = Insert;
        rotate(max: NonZeroUsize) -> Rotated = Rotate;
        wait_for_turn(timeout: Duration) -> () = WaitForTurn;
        list(page: Page) -> Paged<Message> = List;
        remove<'life1>(ids: [MessageId]) -> u64 = Remove;
        len -> u64 = Len;
    }
}

pointers! {
    OnceStore {
        fn claim<'life1>(key: &'life1 [u8], lease_time: Duration) -> Claim;
        fn extend<'life1>(key: &'life1 [u8], token: Token, lease_time: Duration) -> ();
        fn finish<'life1>(key: &'life1 [u8], token: Token, keep: Duration) -> ();
        fn release<'life1>(key: &'life1 [u8], token: Token) -> ();
        fn counts() -> OnceCounts;
    }
}

async fn missing<Q: Sync + ?Sized>(_queue: &Q, call: Call) -> Result<Answer> {
    Err(Error::invalid(format!(
        "this kind of queue has no such call: {call:?}"
    )))
}

impl Call {
    /// The call that puts messages into a queue of this kind: a push, or for a ring an insert of their bodies and
    /// headers.
    pub fn put(kind: QueueKind, messages: Vec<Push>) -> Self {
        match kind {
            QueueKind::Rotating => {
                let item = |push: Push| Insert::new(push.body).with_headers(push.headers);
                Self::Insert(messages.into_iter().map(item).collect())
            }
            _ => Self::Push(messages),
        }
    }

    /// The names of the calls that a kind of queue has.
    pub fn names(kind: QueueKind) -> impl Iterator<Item = &'static str> {
        let (own, leasing) = match kind {
            QueueKind::Reliable => (NAMES.reliable, NAMES.leasing),
            QueueKind::Delay => (NAMES.delay, NAMES.leasing),
            QueueKind::Priority => (NAMES.priority, NAMES.leasing),
            QueueKind::Grouped => (NAMES.grouped, NAMES.leasing),
            QueueKind::Bounded => (NAMES.bounded, NAMES.leasing),
            QueueKind::Rotating => (NAMES.rotating, &[][..]),
        };
        own.iter().chain(leasing).copied()
    }

    /// Whether it waits for something instead of doing something.
    pub const fn is_wait(&self) -> bool {
        self.waits_for().is_some()
    }

    /// Its timeout, if it waits.
    pub const fn waits_for(&self) -> Option<Duration> {
        match self {
            Self::WaitForArrival(timeout)
            | Self::WaitForEnd(_, timeout)
            | Self::WaitToLease(_, _, timeout)
            | Self::WaitForRoom(timeout)
            | Self::WaitForTurn(timeout) => Some(*timeout),
            _ => None,
        }
    }

    /// The answer of a wait that ended without a message.
    pub const fn waited(&self) -> Answer {
        match self {
            Self::WaitToLease(..) => Answer::Leased(Leased::nothing(None)),
            _ => Answer::Nothing,
        }
    }
}
