//! A simulation keeps failing plans, plays them first, and accepts them as fixed only with a proof.

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use queue_core::ReliableConfig;
use queue_sim::{
    sim::{Sim, check, seeds_or, sim},
    world::MemoryEnvironment,
};
use queue_worker::Context;

use crate::{
    child,
    jobs::{harmful, harmless},
};

/// The folder whose plans `of_a_child` plays.
const CHILD: &str = "QUEUE_SIM_TEST_KEPT";

/// A temporary folder of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("{test}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).expect("a new folder");
        Self(folder)
    }

    /// The file of the simulation `jobs`.
    fn file(&self) -> PathBuf {
        self.0.join("jobs.memory.txt")
    }

    fn read(&self) -> String {
        fs::read_to_string(self.file()).expect("a file of kept plans")
    }

    fn write(&self, text: impl AsRef<[u8]>) {
        fs::write(self.file(), text).expect("writes");
    }

    /// The plan of the one kept failure.
    fn plan(&self) -> String {
        let text = self.read();
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let line = lines.next().expect("a line");
        assert_eq!(lines.next(), None, "one line");
        line.rsplit(' ').next().unwrap_or_default().to_owned()
    }

    /// The place of the first plan that `keep` wrote.
    fn first_place(&self) -> String {
        let before = self
            .read()
            .lines()
            .filter(|line| line.starts_with('#'))
            .count();
        format!("{}:{}", self.file().display(), before + 1)
    }

    fn mended(&self) -> Sim {
        harmless("jobs").regressions(&self.0)
    }

    fn broken(&self) -> Sim {
        harmful("jobs").regressions(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// The message of a simulation's panic.
fn failure(simulation: &Sim) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| simulation.run())).expect_err("it fails");
    *panic.downcast::<String>().expect("a message")
}

fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "no {part:?} in:\n{message}");
    }
}

#[test]
fn a_failing_plan_is_kept_and_played_first_until_fixed() {
    let folder = Folder::new("kept");
    let first = failure(&folder.broken());
    assert!(!first.contains("a kept plan"), "{first}");
    let kept = folder.read();
    says(
        &kept,
        &["\neffects exactly once: job ", " happened 2 times v1:"],
    );

    let again = failure(&folder.broken());
    let place = format!("{}: a kept plan fails again", folder.first_place());
    says(&again, &[&place, "QUEUE_SIM_REPLAY='v1:"]);
    assert_eq!(folder.read(), kept, "it is there once");

    folder.mended().run();
    assert_eq!(folder.read(), kept);
}

#[test]
fn a_plan_that_fits_no_more_fails_until_somebody_says_that_this_is_in_order() {
    let folder = Folder::new("misfit");
    failure(&folder.broken());
    let plan = folder.plan();
    folder.write(format!("once broken {plan},77.0.user=1\n"));

    let message = failure(&folder.mended());
    let place = format!("{}:1: ", folder.file().display());
    let replacement = format!("once broken unmet=1 {plan},77.0.user=1");
    let on_its_own = format!("\n{replacement}\n");
    let parts = [
        &*place,
        "once broke once broken",
        "1 of its",
        "77.0.user",
        &on_its_own,
        "delete the line",
        "QUEUE_SIM_KEPT=update",
    ];
    says(&message, &parts);

    folder.write(format!("{replacement}\n"));
    folder.mended().run();

    // One unmet decision more than the line grants.
    folder.write(format!("{replacement},78.0.user=1\n"));
    says(
        &failure(&folder.mended()),
        &["2 of its", "(the line grants 1)"],
    );
}

/// The simulation that the next test starts. When run directly, it does nothing.
#[test]
fn of_a_child() {
    if let Some(folder) = env::var_os(CHILD) {
        harmless("jobs").regressions(folder).run();
    }
}

#[test]
fn an_update_replaces_what_can_be_granted_and_deletes_the_rest() {
    let folder = Folder::new("updated");
    failure(&folder.broken());
    let plan = folder.plan();
    let before =
        format!("# for people\nonce broken {plan},77.0.user=1\nL2 v1:77.0.user=1\n\nL1 v1:\n");
    folder.write(&before);
    let message = failure(&folder.mended());
    says(&message, &["jobs.memory.txt:2: ", "jobs.memory.txt:3: "]);
    assert_eq!(folder.read(), before, "nobody asked for a change");

    let mut child = child("kept::of_a_child");
    child.env(CHILD, &folder.0).env("QUEUE_SIM_KEPT", "update");
    let output = child.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let updated = format!("# for people\nonce broken unmet=1 {plan},77.0.user=1\n\nL1 v1:\n");
    assert_eq!(folder.read(), updated);
    folder.mended().run();
}

#[test]
fn a_plan_of_which_nothing_is_left_is_to_be_deleted_whatever_its_line_grants() {
    let folder = Folder::new("dead");
    folder.write("once broken unmet=9 v1:77.0.user=1,78.0.user=1\n");
    let message = failure(&folder.mended());
    says(&message, &["2 of its 2", "delete the line"]);
    assert!(!message.contains("in its place"), "{message}");
}

#[test]
fn a_bug_is_reported_before_a_plan_that_does_not_fit() {
    let folder = Folder::new("bug-first");
    folder.write("once broken v1:77.0.user=1\n");
    let message = failure(&folder.broken());
    says(&message, &["jobs breaks effects exactly once"]);
    assert!(!message.contains("77.0.user"), "{message}");
}

#[test]
fn a_file_that_cannot_be_read_fails_and_names_the_place() {
    let folder = Folder::new("garbage");
    folder.write("# for people\n\nonce broken v1:1.0.dance=1\n");
    let place = format!("{}:3: ", folder.file().display());
    says(&failure(&folder.mended()), &[&place, "1.0.dance=1"]);

    folder.write([0xff, 0xfe]);
    let file = folder.file().display().to_string();
    says(&failure(&folder.mended()), &[&file]);
}

#[test]
fn a_failure_of_no_single_run_is_not_kept() {
    let folder = Folder::new("worthless");
    let nothing = sim("jobs")
        .reliable::<u32>("jobs", ReliableConfig::default())
        .producer(|_jobs| async { Ok(()) })
        .handler(|_run| |_job: u32, _cx: Context| async {})
        .and()
        .regressions(&folder.0);
    let runs = format!("of {} runs", seeds_or(256));
    says(&failure(&nothing), &[&runs]);
    assert!(!folder.file().exists());
}

#[test]
fn each_backend_has_plans_of_its_own() {
    let folder = Folder::new("backends");
    folder.write("once broken v1:77.0.user=1\n");
    let own = || {
        MemoryEnvironment::over(|| {
            std::sync::Arc::new(queue_memory::MemoryBackend::starting_at(
                queue_sim::world::EPOCH,
            ))
        })
    };
    folder.mended().backend(own).run();
    let failing = folder
        .mended()
        .backend(own)
        .check(check::that("never", |_| Err("as asked".to_owned())));
    failure(&failing);
    assert!(folder.0.join("jobs.own.txt").exists());
}
