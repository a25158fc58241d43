//! A planted bug for each rule, found by the rule's test or by a storm.

use std::panic::{AssertUnwindSafe, catch_unwind};

use queue_schedule::planted::{Bug, plant};

use crate::{calendars, isolation, rules, runs, storms};

#[test]
fn each_planted_bug_is_found() {
    let storms: fn() = || storms::storms(0..100);
    let storms_of_runs: fn() = || storms::storms_of_runs(0..100);
    let records: fn() = isolation::c7_a_bad_record_harms_no_other_and_can_be_taken_away;
    let messages: fn() = isolation::c7_a_slot_whose_message_is_bad_is_given_up_and_reported_once;
    let changes: fn() = runs::c8_a_run_comes_once_whatever_changes_meanwhile;
    let found: [(Bug, fn()); 24] = [
        (Bug::SlotWithoutAKey, storms),
        (
            Bug::SlotIsDueAtOnce,
            rules::c2_a_slot_comes_at_its_time_though_every_scheduler_has_died,
        ),
        (
            Bug::MissedAreSkipped,
            rules::c3_missed_slots_are_skipped_run_once_or_run_to_a_number,
        ),
        (
            Bug::ChangeLeavesTheNextSlot,
            rules::c4_a_changed_schedule_has_the_slots_of_the_new_one_only,
        ),
        (Bug::ChangeLeavesTheClaimed, storms),
        (
            Bug::RunsWhileRunning,
            rules::c6_a_slot_is_skipped_while_the_last_one_runs,
        ),
        (
            Bug::ZoneWithoutDaylightSaving,
            calendars::c5_a_fixed_time_comes_once_a_day_through_both_changes,
        ),
        (
            Bug::OnlyOneTimeIsFixed,
            calendars::c5_a_fixed_time_comes_once_a_day_through_both_changes,
        ),
        (
            Bug::TimeToLiveCountsFromThePush,
            rules::c2_a_time_to_live_counts_from_the_slot,
        ),
        (Bug::OneBadRecordStopsAll, records),
        (Bug::OneBadRuleEndsTheListing, records),
        (Bug::UnreadableStays, records),
        (Bug::BadSlotIsKept, messages),
        (
            Bug::ErrorsAreRepeated,
            isolation::c7_a_cause_that_may_pass_is_reported_once,
        ),
        (Bug::PanicEndsTheScheduler, messages),
        (
            Bug::LaterWriteHidesAnEarlier,
            runs::c8_a_write_on_which_others_have_built_is_written,
        ),
        (
            Bug::FailedLookSaysNotApplied,
            runs::c8_an_error_says_whether_a_run_may_come,
        ),
        (Bug::LaterWriteHidesAnEarlier, storms_of_runs),
        (Bug::FailedLookSaysNotApplied, storms_of_runs),
        (Bug::ChangeLosesRuns, changes),
        (Bug::ChangeLosesRuns, storms_of_runs),
        (Bug::ChangeRepeatsRuns, storms_of_runs),
        (Bug::ChangeRepeatsRuns, changes),
        (
            Bug::RunsShareAKey,
            runs::c8_two_runs_of_one_millisecond_are_two,
        ),
    ];
    for (bug, test) in found {
        let planted = plant(bug);
        let ended = catch_unwind(AssertUnwindSafe(test));
        drop(planted);
        assert!(ended.is_err(), "{bug:?} was not found");
    }
}
