//! A planted bug for each rule, found by the rule's test or by a storm.

use std::panic::{AssertUnwindSafe, catch_unwind};

use queue_schedule::planted::{Bug, plant};

use crate::{calendars, rules, storms};

#[test]
fn each_planted_bug_is_found() {
    let storms: fn() = || storms::storms(0..100);
    let found: [(Bug, fn()); 8] = [
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
    ];
    for (bug, test) in found {
        let planted = plant(bug);
        let ended = catch_unwind(AssertUnwindSafe(test));
        drop(planted);
        assert!(ended.is_err(), "{bug:?} was not found");
    }
}
