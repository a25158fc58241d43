//! A simulation never passes without playing anything, and names what it needs.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, TestRunner},
};
use queue_core::ReliableConfig;
use queue_sim::{
    plan::{Decisions, Plan},
    sim::{Drained, FaultSet, check, seeds_or, sim},
    world::Fault,
};
use queue_worker::{Context, Failure};

use crate::jobs::{harmful, harmless, push_two};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn sound_logic_passes_and_counts_its_faults() {
    let tally = harmless("harmless")
        .check(Drained::within(secs(3600)))
        .try_run()
        .expect("it holds");
    assert_eq!(tally.runs, seeds_or(256));
    assert!(tally.redeliveries > 0 && tally.unknown > 0, "{tally}");
    assert!(tally.faults["crashed"] > 0, "{tally}");
    assert!(tally.to_string().contains("crashed="), "{tally}");
}

/// The same on a real redis-server.
#[cfg(all(unix, feature = "redis"))]
#[test]
fn on_redis_sound_logic_passes_and_harmful_logic_is_found() {
    let server = || queue_sim::wire::RedisEnvironment::start().expect("a redis-server");
    let tally = harmless("on redis").backend(server).try_run();
    println!("{}", tally.expect("it holds"));
    let broken = harmful("on redis").backend(server).try_run();
    let broken = broken.expect_err("it is harmful");
    assert_eq!(broken.finding.rule, "effects exactly once");
}

/// The same in a folder, on a machine whose power fails.
#[cfg(all(unix, feature = "file"))]
#[test]
fn in_a_folder_sound_logic_passes_and_harmful_logic_is_found() {
    let folder = queue_sim::world::FileEnvironment::new;
    let tally = harmless("in a folder").backend(folder).try_run();
    let tally = tally.expect("it holds");
    assert!(tally.faults["restarted"] > 0, "{tally}");
    let broken = harmful("in a folder").backend(folder).try_run();
    let broken = broken.expect_err("it is harmful");
    assert_eq!(broken.finding.rule, "effects exactly once");
}

#[test]
fn a_producer_that_pushes_nothing_is_reported() {
    let broken = sim("nothing")
        .reliable::<u32>("jobs", ReliableConfig::default())
        .producer(|_jobs| async { Ok(()) })
        .handler(|_run| |_job: u32, _cx: Context| async {})
        .and()
        .try_run()
        .expect_err("it proves nothing");
    assert_eq!(broken.finding.rule, "worth");
    let text = format!("only in 0 of {} runs", seeds_or(256));
    assert!(broken.message.contains(&text), "{broken}");
}

#[test]
fn a_handler_that_only_fails_is_reported() {
    let broken = sim("failing")
        .reliable::<u32>("jobs", ReliableConfig::default())
        .producer(push_two)
        .handler(|_run| |_job: u32, _cx: Context| async { Err::<(), _>(Failure::new("never")) })
        .and()
        .try_run()
        .expect_err("it proves nothing");
    assert_eq!(broken.finding.rule, "worth");
}

#[test]
fn a_fault_that_never_strikes_is_reported() {
    let broken = harmless("spared")
        .faults(FaultSet::only([Fault::Crashed, Fault::Cancelled]))
        .try_run()
        .expect_err("nothing cancels there");
    let text = format!("never met in {} runs: cancelled", seeds_or(256));
    assert!(broken.message.contains(&text), "{broken}");
}

#[test]
fn a_producers_error_fails_the_run() {
    let broken = sim("oversized")
        .reliable::<u32>("no such name!", ReliableConfig::default())
        .producer(push_two)
        .and()
        .try_run()
        .expect_err("the name is invalid");
    assert_eq!(broken.finding.rule, "failure");
    assert!(broken.message.contains("no such name!"), "{broken}");
}

#[test]
fn a_process_that_panics_fails_the_run() {
    let broken = harmless("panicking")
        .faults(FaultSet::none())
        .reliable::<u32>("others", ReliableConfig::default())
        .producer(|_others| async { panic!("as planned") })
        .and()
        .try_run()
        .expect_err("it panics");
    assert!(broken.message.contains("panicked: as planned"), "{broken}");
}

#[test]
fn a_test_that_depends_on_chance_is_reported() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let broken = sim("by chance")
        .reliable::<u64>("jobs", ReliableConfig::default())
        .producer(|jobs| async move {
            jobs.push(&RUNS.fetch_add(1, Ordering::SeqCst)).await?;
            Ok(())
        })
        .handler(|_run| |_job: u64, _cx: Context| async {})
        .and()
        .try_run()
        .expect_err("each run is another");
    assert_eq!(broken.finding.rule, "determinism");
    for pushed in [0, 1] {
        let text = format!("push \"{pushed}\" (executed)   <- here they part");
        assert!(broken.message.contains(&text), "{broken}");
    }
}

#[test]
fn a_run_that_continues_where_the_other_ends_is_reported() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let broken = sim("longer")
        .reliable::<u64>("jobs", ReliableConfig::default())
        .producer(|jobs| async move {
            jobs.push(&7).await?;
            if RUNS.fetch_add(1, Ordering::SeqCst) > 0 {
                jobs.push(&8).await?;
            }
            Ok(())
        })
        .and()
        .patience(secs(60))
        .check(check::that("anything goes", |_| Ok(())))
        .faults(FaultSet::none())
        .try_run()
        .expect_err("each run is another");
    assert_eq!(broken.finding.rule, "determinism");
    for text in [
        "== the faults are over   <- here",
        "push \"8\" -> 2   <- here",
    ] {
        assert!(broken.message.contains(text), "{broken}");
    }
}

#[tokio::test]
async fn inside_a_runtime_it_says_what_to_do() {
    let panic = catch_unwind(AssertUnwindSafe(|| harmless("nested").run()));
    let panic = panic.expect_err("it cannot run here");
    let message = panic.downcast_ref::<&str>().copied().unwrap_or_default();
    assert!(message.contains("a plain #[test]"), "{message}");
}

#[test]
fn a_failure_is_replayed_by_its_plan_and_by_no_other() {
    let broken = harmful("replayed").try_run().expect_err("it is harmful");
    let plan = broken.plan.clone().expect("a run is wrong");
    let run = harmful("replayed").play(&Decisions::planned(plan.clone()));
    let findings = harmful("replayed").findings(&run);
    assert_eq!(findings.first(), Some(&broken.finding));
    let line = format!("QUEUE_SIM_REPLAY='{plan}'");
    assert!(broken.message.contains(&line), "{broken}");
    assert!(plan.len() <= 6, "{plan}");
    let calm = harmful("replayed").play(&Decisions::planned(Plan::default()));
    assert!(harmful("replayed").findings(&calm).is_empty());
}

#[test]
fn a_check_of_ones_own_is_held_against_every_run() {
    let broken = harmless("own check")
        .check(check::that("no message is ever delivered twice", |run| {
            let fates = run.fates(&"jobs".parse().expect("a name"));
            match fates.deliveries.values().max() {
                Some(2..) => Err("one was".to_owned()),
                _ => Ok(()),
            }
        }))
        .try_run()
        .expect_err("faults redeliver");
    assert_eq!(broken.finding.rule, "no message is ever delivered twice");
}

#[test]
fn under_proptest_the_plan_is_shrunk() {
    let cases = harmful("proptest").cases();
    let mut runner = TestRunner::new(Config::with_cases(256));
    let failure = runner.run(&cases, |case| case.check());
    let failure = failure.expect_err("it is harmful").to_string();
    assert!(failure.contains("effects exactly once"), "{failure}");

    // The same by hand: the last plan is small.
    let mut runner = TestRunner::deterministic();
    let mut tree = loop {
        let tree = cases.new_tree(&mut runner).expect("a case");
        if tree.current().check().is_err() {
            break tree;
        }
    };
    let whole = tree.current().play().plan.len();
    let mut smallest = whole;
    let mut go_on = tree.simplify();
    while go_on {
        let case = tree.current();
        if case.check().is_err() {
            smallest = smallest.min(case.play().plan.len());
            go_on = tree.simplify();
        } else {
            go_on = tree.complicate();
        }
    }
    assert!(smallest < whole && smallest <= 8, "{smallest} of {whole}");
}
