//! Planted bugs, each found by the test of the statement that it breaks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use queue_worker::planted::{Bug, plant};

use crate::{batch_slots, batches, shutdown};

#[test]
fn each_planted_bug_is_found_by_its_test() {
    let found: [(Bug, fn()); 4] = [
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
    ];
    for (bug, test) in found {
        let planted = plant(bug);
        let ended = catch_unwind(AssertUnwindSafe(test));
        drop(planted);
        assert!(ended.is_err(), "{bug:?} was not found");
        test();
    }
}
