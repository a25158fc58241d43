//! `Arc<Q>` and `Box<Q>` are queues, or stores of once keys, if `Q` is.
//!
//! The macro forwards every method by hand, those with a default body too: a forgotten one would
//! quietly replace a backend's own by the slower default, so a clippy lint refuses it.
//!
//! The methods have the form that `async_trait` would give them, so that they hand on the boxed
//! future of `Q` instead of boxing another one around it: a call through a pointer costs no extra
//! allocation.

use std::{num::NonZeroUsize, pin::Pin, sync::Arc, time::Duration};

use super::*;
use crate::{
    Claim, Counters, DeadLetter, Depth, Due, Extended, Leased, Message, MessageId, OnceCounts,
    OnceStore, Page, Paged, Push, Pushed, Receipt, Result, Revived, Settled, Settlement, Token,
};

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Implements a trait for both pointers. A method that borrows something beside the queue names
/// that lifetime in brackets.
macro_rules! forward {
    ($($trait:ident { $($methods:tt)* })*) => {
        $(
            forward!(@for Arc, $trait, $($methods)*);
            forward!(@for Box, $trait, $($methods)*);
        )*
    };
    (@for $pointer:ident, $trait:ident,
        $(fn $name:ident $([$life:lifetime])? ($($arg:ident: $type:ty),*) -> $answer:ty;)*
    ) => {
        #[deny(clippy::missing_trait_methods)]
        impl<Q: $trait + ?Sized> $trait for $pointer<Q> {
            $(
                fn $name<'life0, $($life,)? 'async_trait>(
                    &'life0 self,
                    $($arg: $type),*
                ) -> Answer<'async_trait, $answer>
                where
                    'life0: 'async_trait,
                    $($life: 'async_trait,)?
                    Self: 'async_trait,
                {
                    (**self).$name($($arg),*)
                }
            )*
        }
    };
}

forward! {
    Leasing {
        fn lease(max: NonZeroUsize, ttl: Duration) -> Leased;
        fn settle['life1](settlements: &'life1 [Settlement]) -> Vec<Settled>;
        fn turn['life1](settlements: &'life1 [Settlement], max: NonZeroUsize, ttl: Duration)
            -> (Vec<Settled>, Leased);
        fn extend['life1](receipts: &'life1 [Receipt], ttl: Duration) -> Vec<Extended>;
        fn wait_for_arrival(timeout: Duration) -> ();
        fn depth() -> Depth;
        fn counters() -> Counters;
        fn dead_letters(page: Page) -> Paged<DeadLetter>;
        fn revive['life1](ids: &'life1 [MessageId]) -> Vec<Revived>;
        fn discard['life1](ids: &'life1 [MessageId]) -> u64;
        fn pause() -> ();
        fn resume() -> ();
        fn purge(max: NonZeroUsize) -> u64;
    }
    ReliableQueue {
        fn push['life1](messages: &'life1 [Push]) -> Vec<Pushed>;
    }
    DelayQueue {
        fn schedule['life1](messages: &'life1 [Scheduled]) -> Vec<Pushed>;
        fn cancel['life1](ids: &'life1 [MessageId]) -> Vec<Cancelled>;
        fn reschedule(id: MessageId, due: Due) -> Rescheduled;
        fn next_due() -> Option<Duration>;
    }
    PriorityQueue {
        fn enqueue['life1](messages: &'life1 [Prioritized]) -> Vec<Pushed>;
    }
    BoundedQueue {
        fn offer['life1](messages: &'life1 [Offer], overflow: Overflow) -> Vec<Offered>;
        fn wait_for_room(timeout: Duration) -> ();
        fn recent(n: usize) -> Vec<Message>;
        fn capacity() -> NonZeroUsize;
        fn resize(capacity: NonZeroUsize) -> Vec<MessageId>;
    }
    RotatingQueue {
        fn insert['life1](items: &'life1 [Insert]) -> Vec<Inserted>;
        fn rotate(max: NonZeroUsize) -> Rotated;
        fn wait_for_turn(timeout: Duration) -> ();
        fn list(page: Page) -> Paged<Message>;
        fn remove['life1](ids: &'life1 [MessageId]) -> u64;
        fn len() -> u64;
    }
    OnceStore {
        fn claim['life1](key: &'life1 [u8], ttl: Duration) -> Claim;
        fn extend['life1](key: &'life1 [u8], token: Token, ttl: Duration) -> ();
        fn finish['life1](key: &'life1 [u8], token: Token, keep: Duration) -> ();
        fn release['life1](key: &'life1 [u8], token: Token) -> ();
        fn counts() -> OnceCounts;
    }
}
