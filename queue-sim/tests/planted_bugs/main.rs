//! The checks can fail: bugs that queues have had, planted into the backends, and found.
//!
//! A bug is planted where it would be: in the memory backend's state machine (`queue_memory::planted`),
//! in the text of the Redis backend's scripts (`lua`), between its client and the server, where one
//! request becomes several (`steps`), or in front of any backend (`flaw`). Each test plays seeds
//! until a rule that the bug breaks is seen to be broken, says how many it took, and then plays the
//! same seeds without the bug, in which nothing may be broken. A hang only counts for a wake-up that
//! is lost.
//!
//! What some backend cannot have:
//!
//! | bug | where not | why not |
//! | --- | --- | --- |
//! | non-atomic claim, reaper, nack; check, then push; rotate in two steps | memory | a call does all its work in one poll, under one lock: nothing can come in between |
//! | a client's clock decides | memory | there is one clock |
//! | `MULTI` for Lua, no fall-back for `NOSCRIPT`, a wrong hash tag | memory | no scripts, no keys |
//! | unchecked `ZREM` | kinds other than delay | only cancelling takes out what it does not hold; on memory it is an unchecked removal |
//! | check, then register | | on Redis a marker keeps what nobody waits for, so the bug is one that forgets it |

/// Makes a test of each bug: it must be caught, within two thousand seeds, by a rule that it breaks.
macro_rules! bugs {
    ($hunt:ident($kind:ident) { $($test:ident: $bug:expr, by $($rule:literal)|+;)+ }) => {$(
        #[test]
        fn $test() {
            crate::hunt::$hunt(queue_core::QueueKind::$kind, $bug, &[$($rule),+]);
        }
    )+};
}

#[macro_use]
mod leasing;

mod bounded;
mod delay;
mod flaw;
mod hunt;
mod in_front;
mod lua;
mod priority;
mod reliable;
mod rotating;
mod steps;
