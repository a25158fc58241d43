//! Playing a case, or skipping it.

use std::{
    collections::BTreeSet,
    io::Write,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{Capabilities, Capability, Case, Harness, cases::CASES, standstill};

impl Case {
    /// Plays the case in the harness's runtime, or says on standard error why it skips it.
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
            self.name()
        );
    }

    fn say_skipped(&self, harness: &dyn Harness, missing: Capability) {
        // Hundreds of cases may lack one capability: one line tells of them all.
        static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let line = match missing {
            Capability::Kind(_) | Capability::Once => {
                let rest = Capabilities::all().without(missing);
                let those = CASES.iter().filter(|case| case.missing(&rest).is_some());
                let count = those.count();
                format!("skipped {count} cases: {harness:?} lacks {missing}\n")
            }
            _ => format!("skipped {}: {harness:?} lacks {missing}\n", self.name()),
        };
        let told = TOLD.lock().map(|mut told| told.insert(line.clone()));
        if told.unwrap_or(true) {
            // Not `eprintln`, which the test runner captures: the user has to see a skip. A closed
            // standard error is no reason to fail.
            std::io::stderr().write_all(line.as_bytes()).ok();
        }
    }
}
