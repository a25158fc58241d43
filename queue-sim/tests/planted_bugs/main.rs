//! The checks can fail: each test plants a bug that real queues have had, and the checks find it.
//!
//! A bug is planted where it would be: in the memory backend's state machine (`queue_memory::planted`), in
//! the text of the Redis backend's scripts (`lua`), between its client and the server, where one request
//! becomes several (`steps`), or in front of any backend (`flaw`). Each test plays seeds until the checks
//! find a rule that the bug breaks, and prints that seed; it begins with the seed that caught the bug last
//! (`hunt`). Then it plays the same seeds without the bug, and they must break nothing. A hang only counts
//! for a lost wake-up.
//!
//! Bugs that some backend cannot have:
//!
//! | bug | where not | why not |
//! | --- | --- | --- |
//! | non-atomic claim, reaper, nack; check, then push; rotate in two steps | memory | a call does all its work in one poll, under one lock: nothing can come in between |
//! | a client's clock decides | memory | there is one clock |
//! | `MULTI` for Lua, no fall-back for `NOSCRIPT`, a wrong hash tag | memory | no scripts, no keys |
//! | unchecked `ZREM` | memory | no sorted sets; in front of any backend it is an unchecked removal |
//! | check, then register | | on Redis a marker keeps a hint for which no client waits, so the bug is a marker that forgets it |

/// Makes a test of each bug: the checks must catch it, within three thousand seeds, by a rule that it
/// breaks.
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
mod grouped;
mod hunt;
mod in_front;
mod lua;
mod priority;
mod reliable;
mod rotating;
#[path = "../support/shapes.rs"]
mod shapes;
mod steps;
