//! Playing a case, or skipping it.

use std::{
    collections::BTreeSet,
    io::Write,
    sync::{Mutex, PoisonError},
};

use crate::{
    Capabilities, Capability, Case, Ending, Harness, Skip, cases::CASES, ending::Exit,
    stage::Stage, standstill,
};

impl Case {
    /// Plays the case in the harness's runtime, or says on standard error why it skips it.
    ///
    /// A case is skipped before it begins if the harness lacks a capability, or if the backend's
    /// [`Guarantees`](queue_core::Guarantees) for its kind break its rule or lack a feature that it needs. It is
    /// skipped half-way when it asks a queue for something else that the queue lacks by its guarantees.
    ///
    /// # Panics
    ///
    /// If the backend breaks the rule, if virtual time stands still for two minutes of real time, or
    /// if the harness does not play the case to its end.
    pub fn run(&self, harness: &dyn Harness) -> Ending {
        let ending = self.play(harness);
        if let Ending::Skipped(skip) = &ending {
            self.say_skipped(harness, skip);
        }
        ending
    }

    fn play(&self, harness: &dyn Harness) -> Ending {
        if let Some(missing) = self.missing(&harness.capabilities()) {
            return Ending::Skipped(Skip::Needs(missing));
        }
        let ended = Mutex::new(None);
        harness.run(Box::pin(async {
            let exit = Exit::default();
            let case = self.play_on_a_stage(harness, exit.clone());
            let case = standstill::moving(case, standstill::PATIENCE);
            let ending = exit.or_end(case).await;
            *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ending);
        }));
        let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        ended.unwrap_or_else(|| panic!("{harness:?} did not play {} to its end", self.name()))
    }

    async fn play_on_a_stage(&self, harness: &dyn Harness, exit: Exit) {
        let stage = Stage::set(harness, self.kind, exit).await;
        stage.needs_own_rule(&self.rule());
        for feature in self.features {
            stage.needs(*feature);
        }
        (self.play)(&stage).await;
        stage.close().await;
    }

    fn say_skipped(&self, harness: &dyn Harness, skip: &Skip) {
        // Hundreds of cases may lack the same capability, so they share one line.
        static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let line = match skip {
            Skip::Needs(
                missing @ (Capability::Kind(_) | Capability::Once | Capability::Removal),
            ) => {
                let rest = Capabilities::all().without(*missing);
                let those = CASES.iter().filter(|case| case.missing(&rest).is_some());
                let count = those.count();
                format!("skipped {count} cases: {harness:?} {skip}\n")
            }
            Skip::Needs(_) => format!("skipped {}: {harness:?} {skip}\n", self.name()),
            Skip::Breaks { rule, .. } => {
                let those = CASES.iter().filter(|case| case.kind == self.kind);
                let count = those.filter(|case| case.rule() == *rule).count();
                format!("skipped {count} cases of {rule}: {harness:?} {skip}\n")
            }
            Skip::Lacks(what) => format!("skipped cases: {harness:?}: {what}\n"),
        };
        let printed = PRINTED
            .lock()
            .map(|mut printed| printed.insert(line.clone()));
        if printed.unwrap_or(true) {
            // Not `eprintln`, which the test runner captures: the user has to see a skip. A closed
            // standard error is no reason to fail.
            std::io::stderr().write_all(line.as_bytes()).ok();
        }
    }
}
