//! The conformance suite of queue-kit, for authors of backends and layers: it proves that yours
//! keeps the contract.
//!
//! There is a case for each promise of `CONTRACT.md`, named by its rule. A case is an async
//! function over `&dyn` traits; a case that holds for every leasing kind is written once and plays
//! on each. [`suite!`] makes a `#[test]` of each case:
//!
//! ```ignore
//! mod in_virtual_time {
//!     queue_conformance::suite!(queue_conformance::InVirtualTime::new(MyBackend::new));
//! }
//! mod on_threads {
//!     queue_conformance::suite!(queue_conformance::OnThreads::new(MyBackend::new));
//! }
//! ```
//!
//! That gives tests such as `in_virtual_time::reliable::l4_a_stale_receipt_changes_nothing`. A backend outside this
//! process brings a [`Harness`] of its own in place of [`InVirtualTime`] and [`OnThreads`]. The suite skips a case that
//! needs a [`Capability`] which the harness does not declare. It says so on standard error, past the test runner's
//! capture, in one line for all cases that need one kind. [`plan`] lists the skipped cases, so that a test can check
//! their count.
//!
//! A backend whose queues lack something declares that in its [`Guarantees`](queue_core::Guarantees), which the suite
//! reads. A case is skipped at once if the queue breaks the case's rule, which begins its name. It is also skipped at
//! once if the queue lacks a [`Feature`](queue_core::Feature) that the case needs by the list of cases. A case is
//! skipped half-way when it asks for something else that the queue lacks: a method, a part of a message, several
//! messages at once. Where ids are names, the suite numbers the messages as they arrive. Where a queue has no counters,
//! the suite reads the depth, or leaves the check out. [`Case::run`] returns how the case ended ([`Ending`]) and why it
//! was skipped ([`Skip`]), so that a test can count the cases that play to their end. On a backend that has everything,
//! which is the default, no case is skipped for such a reason: it fails instead.
//!
//! At its end every case also checks L5: the queue's counters add up, and agree with its answers. If the harness can
//! read the stored data ([`Harness::leaks`]), the case also checks that removed messages have left nothing behind.
//!
//! The page `docs/write-your-own-backend.md` in the repository builds a backend step by step.

mod case;
mod cases;
mod ending;
mod harness;
mod in_process;
mod play;
mod stage;
mod standstill;
mod steps;

pub use self::{
    case::Case,
    ending::{Ending, Skip},
    harness::{Capabilities, Capability, Harness, Play},
    in_process::{InVirtualTime, OnThreads},
};

/// The whole suite.
pub const fn cases() -> &'static [Case] {
    cases::CASES
}

/// The cases that a harness with these capabilities plays, and the cases that it skips.
pub fn plan(capabilities: &Capabilities) -> Plan {
    let mut plan = Plan::default();
    for case in cases() {
        match case.missing(capabilities) {
            None => plan.played.push(*case),
            Some(missing) => plan.skipped.push((*case, missing)),
        }
    }
    plan
}

/// The answer of [`plan`].
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The cases to play.
    pub played: Vec<Case>,
    /// The cases to skip, each with the capability that it lacks.
    pub skipped: Vec<(Case, Capability)>,
}

/// Plays the case of this name.
///
/// # Panics
///
/// As [`Case::run`] does, and if there is no such case.
pub fn run(harness: &dyn Harness, name: &str) -> Ending {
    let case = cases().iter().find(|case| case.name() == name);
    case.unwrap_or_else(|| panic!("no case is called {name}"))
        .run(harness)
}

/// Makes a `#[test]` of every case of the suite, in a module for each kind of queue.
///
/// The expression makes a fresh [`Harness`] for each case. To put
/// several backends, or one in several wrappings, through the suite in one file, call it in
/// several modules.
#[macro_export]
macro_rules! suite {
    ($harness:expr) => {
        // One function for all cases: each of the many tests is compiled, and has as little as can be.
        fn suite_play(case: &str) {
            $crate::run(&$harness, case);
        }
        $crate::__cases!(__tests);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    ($(
        $module:ident: $kind:expr => { $($source:ident {
            $($name:ident $([$($need:ident)+])? $(($($feature:ident)+))?),* $(,)?
        })+ }
    )+) => {
        $(
            mod $module {
                $($(
                    #[test]
                    fn $name() {
                        super::suite_play(concat!(stringify!($module), "::", stringify!($name)));
                    }
                )*)+
            }
        )+
    };
}
