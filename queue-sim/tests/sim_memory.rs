//! Runs of every kind on the memory backend break no rule, are the same again, and reach their
//! goals.

mod sim;

use queue_sim::world::MemoryEnvironment;

sim::each_kind!(MemoryEnvironment::new());

/// A bug also changes the course of kept plans. Beside a plan that no longer fits, the bug is still
/// reported by the rule that it breaks. If nothing else is wrong, the plan is reported.
#[cfg(feature = "planted")]
#[test]
fn a_bug_is_reported_before_a_kept_plan_that_no_longer_fits() {
    use std::{
        fs,
        panic::{AssertUnwindSafe, catch_unwind},
        path::Path,
    };

    use queue_core::QueueKind;
    use queue_memory::planted::{Bug, plant};

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("a_bug_is_told");
    let fresh = |folder: &Path| {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).expect("a folder");
        let plan = "L4 v1:1.999.verb=3\n";
        fs::write(folder.join("reliable.memory.txt"), plan).expect("writes");
    };
    let message = || {
        fresh(&folder);
        let mut environment = MemoryEnvironment::new();
        let played = catch_unwind(AssertUnwindSafe(|| {
            sim::hold_with(&folder, 60, QueueKind::Reliable, &mut environment);
        }));
        let panic = played.expect_err("something is wrong");
        panic.downcast_ref::<String>().expect("a message").clone()
    };
    let misfit = message();
    assert!(
        misfit.contains("no longer fits; it once broke L4"),
        "{misfit}"
    );

    let planted = plant(Bug::ExpiryIsFree);
    let bug = message();
    drop(planted);
    assert!(bug.contains("L6: message "), "{bug}");
    assert!(!bug.contains("no longer fits"), "{bug}");
}
