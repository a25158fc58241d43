//! Runs of every kind on queue-file, over a simulated disk whose power fails, break no rule, are the same again, and
//! reach their goals.

#![cfg(unix)]

mod sim;

use queue_sim::world::FileEnvironment;

sim::each_kind!(FileEnvironment::new());

/// Each bug of a journal is found by the rules of the queues.
#[cfg(feature = "planted")]
#[test]
fn planted_bugs_of_the_journal_are_found() {
    use queue_core::QueueKind;
    use queue_file::planted::{Bug, plant};
    use queue_sim::run::{Runs, Scenario};

    for bug in [
        Bug::AnswersBeforeTheSync,
        Bug::StateDropsARecord,
        Bug::TrimsTooFar,
        Bug::TimeGoesBack,
        Bug::FailedSyncIsRetried,
    ] {
        plant(Some(bug));
        let mut environment = FileEnvironment::new();
        let mut runs = Runs::new(Scenario::new(QueueKind::Reliable), &mut environment);
        let found = (0..5_000).find(|seed| {
            runs.seed(*seed);
            !runs.failures().is_empty()
        });
        plant(None);
        println!("{bug:?}: seed {found:?}");
        assert!(found.is_some(), "{bug:?} is not found");
    }
}
