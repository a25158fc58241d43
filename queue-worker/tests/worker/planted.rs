//! Planted bugs, each found by the test of the statement that it breaks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use queue_worker::planted::{Bug, plant};

use crate::{batch_slots, batches, durable, refusals, shutdown};

#[test]
fn each_planted_bug_is_found_by_its_test() {
    let found: [(Bug, fn()); 15] = [
        (
            Bug::BatchLostWithOneLease,
            batches::a_batch_of_which_one_lease_is_lost_goes_on_and_settles_the_others,
        ),
        (
            Bug::StopReleasesTheBuried,
            shutdown::a_stopped_handler_may_still_bury_its_message,
        ),
        (
            Bug::NoLastCall,
            shutdown::the_last_results_are_settled_however_short_the_cleanup_is,
        ),
        (
            Bug::BatchTakesMoreSlots,
            batch_slots::a_call_for_a_batch_holds_one_slot,
        ),
        (
            Bug::NoBurial,
            refusals::a_refused_result_buries_its_message_and_all_others_are_settled_once,
        ),
        (
            Bug::BuriesTheReleased,
            refusals::a_shutdown_releases_all_messages_but_those_that_cannot_be_released,
        ),
        (
            Bug::GivesUpAllResults,
            refusals::a_queue_that_refuses_all_results_loses_none_and_buries_none,
        ),
        (
            Bug::ForgetsDoubt,
            refusals::a_refused_batch_that_took_effect_is_not_handled_again,
        ),
        (
            Bug::TakesOutagesForRefusals,
            refusals::a_refused_result_buries_its_message_and_all_others_are_settled_once,
        ),
        (
            Bug::ExtendsTheRefused,
            refusals::a_lease_that_cannot_be_extended_costs_no_other_its_lease,
        ),
        (
            Bug::LeavesOutAllLeases,
            refusals::a_queue_that_extends_nothing_for_a_time_loses_no_lease,
        ),
        (
            Bug::ProgressCostsTheLease,
            refusals::an_extension_takes_effect_without_its_refused_progress,
        ),
        (
            Bug::RepeatsRefusedProgress,
            refusals::refused_progress_costs_no_lease,
        ),
        (
            Bug::JoinForgetsTheDead,
            durable::a_dead_child_ends_for_its_parent_and_is_named,
        ),
        (
            Bug::NoReply,
            refusals::each_handler_gets_the_error_of_its_own_extension,
        ),
    ];
    for (bug, test) in found {
        let planted = plant(bug);
        let ended = catch_unwind(AssertUnwindSafe(test));
        drop(planted);
        assert!(ended.is_err(), "{bug:?} was not found");
        test();
    }
}
