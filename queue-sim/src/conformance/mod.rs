//! One suite for every backend: a case for each promise of `CONTRACT.md`, named by its rule.
//!
//! A case is an async function over `&dyn` traits. Those that hold for every leasing kind are
//! written once and played on each. [`conformance!`](crate::conformance!) makes tests of them:
//!
//! ```ignore
//! mod in_virtual_time {
//!     queue_sim::conformance!(queue_sim::InVirtualTime::new(MyBackend::new));
//! }
//! mod on_threads {
//!     queue_sim::conformance!(queue_sim::OnThreads::new(MyBackend::new));
//! }
//! ```
//!
//! A backend that is not in this process has a [`Harness`] of its own in their place. That gives tests such as `in_virtual_time::reliable::l4_a_stale_receipt_changes_nothing`. A case that needs a
//! [`Capability`] which the harness does not declare is skipped: it says so on
//! standard error, past the test runner's capture (all that need one kind in one line), and
//! [`plan`] lists it, so that a test can hold the count.
//!
//! What every case checks at its end, whatever it is about, is L5: the queue's own counters
//! balance, and agree with what its answers added up to; and, where the harness can tell
//! ([`Harness::leftovers`]), what is gone has left nothing behind.

mod audit;
mod backend;
mod bounded;
mod cases;
mod delay;
mod leasing;
mod lines;
mod moves;
mod once;
mod priority;
mod reliable;
mod rotating;
mod stage;
mod subject;

use std::{
    collections::BTreeSet,
    io::Write,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use queue_core::QueueKind;

use crate::{Capabilities, Capability, Harness, Play, standstill};

/// One case of the suite.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    name: &'static str,
    kind: Option<QueueKind>,
    needs: &'static [Capability],
    play: for<'h> fn(&'h dyn Harness) -> Play<'h>,
}

impl Case {
    /// The kind of queue and the rule, as in `reliable::f1_first_in_first_out`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The kind of queue that it is about; `None` where it is about the backend as a whole, or
    /// about once keys.
    pub const fn kind(&self) -> Option<QueueKind> {
        self.kind
    }

    /// The first capability that it needs and that is not among these.
    pub fn missing(&self, capabilities: &Capabilities) -> Option<Capability> {
        let kind = self.kind.map(Capability::Kind);
        let mut needs = kind.into_iter().chain(self.needs.iter().copied());
        needs.find(|need| !capabilities.has(*need))
    }

    /// Plays the case in the harness's runtime, or says on standard error why it is skipped.
    ///
    /// # Panics
    ///
    /// If the backend breaks the rule, if virtual time stands still for two minutes of real time, or
    /// if the harness does not play the case to its end.
    pub fn run(&self, harness: &dyn Harness) {
        if let Some(missing) = self.missing(&harness.capabilities()) {
            self.say_skipped(harness, missing);
            return;
        }
        let ended = AtomicBool::new(false);
        harness.run(Box::pin(async {
            standstill::moving((self.play)(harness), standstill::PATIENCE).await;
            ended.store(true, Ordering::SeqCst);
        }));
        assert!(
            ended.load(Ordering::SeqCst),
            "{harness:?} did not play {} to its end",
            self.name
        );
    }

    fn say_skipped(&self, harness: &dyn Harness, missing: Capability) {
        // Hundreds of cases may be about what is not there: they are told in one line.
        static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let line = match missing {
            Capability::Kind(_) | Capability::Once => {
                let rest = Capabilities::all().without(missing);
                let those = cases().iter().filter(|case| case.missing(&rest).is_some());
                let count = those.count();
                format!("skipped {count} cases: {harness:?} lacks {missing}\n")
            }
            _ => format!("skipped {}: {harness:?} lacks {missing}\n", self.name),
        };
        let told = TOLD.lock().map(|mut told| told.insert(line.clone()));
        if told.unwrap_or(true) {
            // Not `eprintln`, which the test runner captures: a skip has to be seen. And a closed
            // standard error is no reason to fail.
            std::io::stderr().write_all(line.as_bytes()).ok();
        }
    }
}

/// The whole suite.
pub const fn cases() -> &'static [Case] {
    cases::CASES
}

/// Which cases a harness with these capabilities plays, and which it skips for want of what.
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

/// What [`plan`] answers.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The cases that are played.
    pub played: Vec<Case>,
    /// The cases that are skipped, each with what it needs.
    pub skipped: Vec<(Case, Capability)>,
}

/// Plays the case of this name.
///
/// # Panics
///
/// As [`Case::run`] does, and if there is no such case.
pub fn run(harness: &dyn Harness, name: &str) {
    let case = cases().iter().find(|case| case.name == name);
    case.unwrap_or_else(|| panic!("no case is called {name}"))
        .run(harness);
}

/// Makes a `#[test]` of every case of the suite, in a module for each kind of queue.
///
/// The expression makes a fresh [`Harness`](crate::Harness) for each case. To put
/// several backends, or one in several wrappings, through the suite in one file, call it in
/// several modules.
#[macro_export]
macro_rules! conformance {
    ($harness:expr) => {
        fn conformance_harness() -> impl $crate::Harness {
            $harness
        }
        $crate::__conformance_cases!(__conformance_tests);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_tests {
    ($($module:ident: $kind:expr => { $($source:ident { $($name:ident $([$($need:ident)+])?),* $(,)? })+ })+) => {
        $(
            mod $module {
                $($(
                    #[test]
                    fn $name() {
                        let name = concat!(stringify!($module), "::", stringify!($name));
                        $crate::conformance::run(&super::conformance_harness(), name);
                    }
                )*)+
            }
        )+
    };
}
