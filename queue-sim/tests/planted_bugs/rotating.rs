//! Rotating queues.

mod memory {
    use queue_memory::planted::Bug;

    use crate::flaw::*;

    bugs! { in_memory(Rotating) {
        inserted_near_the_front: Bug::InsertedNearTheFront, by "T3" | "linearisable";
        removes_the_head: Bug::RemovesTheHead, by "T2";
        visits_twice: Bug::VisitsTwice, by "T1";
        pace_from_the_due_time: Bug::PaceFromTheDueTime, by "T4";
        pace_keeps_due_times: Bug::PaceKeepsDueTimes, by "linearisable";
        removed_stays_listed: Bug::RemovedStaysListed, by "operators";
        insert_does_not_wake_a_sleeper: Bug::ArrivalWakesNobody, by "waiting" | "progress";
    } }
    bugs! { before_memory(Rotating) {
        next_rounded_down: NextRoundedDown, by "T4" | "waiting" | "linearisable";
        non_idempotent_automatic_retry: RepeatsTheUnknown, by "T2" | "T1";
    } }
}

mod redis {
    use crate::{flaw::*, lua, steps::*};

    bugs! { in_scripts(Rotating) {
        inserted_near_the_front: lua::INSERTED_NEAR_THE_FRONT, by "T3" | "T2" | "linearisable";
        removes_the_head: lua::REMOVES_THE_HEAD, by "T2";
        removal_leaves_the_body: lua::REMOVAL_LEAVES_THE_BODY, by "leftovers";
        removal_leaves_the_large_body: lua::REMOVAL_LEAVES_THE_LARGE_BODY, by "leftovers";
        present_item_leaves_its_upload: lua::PRESENT_ITEM_LEAVES_ITS_UPLOAD, by "leftovers";
        inserted_body_stays_noted: lua::INSERTED_BODY_STAYS_NOTED, by "leftovers";
        large_item_is_inserted_twice: lua::LARGE_ITEM_IS_INSERTED_TWICE, by "leftovers" | "T1" | "linearisable";
        visits_twice: lua::VISITS_TWICE, by "T1";
        pace_from_the_due_time: lua::PACE_FROM_THE_DUE_TIME, by "T4";
        pace_keeps_due_times: lua::PACE_KEEPS_DUE_TIMES, by "linearisable";
        queue_leaves_its_hints: lua::QUEUE_LEAVES_ITS_HINTS, by "operators";
        insert_does_not_wake_a_sleeper: lua::INSERT_WAKES_NOBODY, by "waiting" | "progress";
        due_items_wake_nobody: lua::DUE_ITEMS_WAKE_NOBODY, by "waiting" | "progress";
    } }
    bugs! { between(Rotating) {
        rotate_in_two_steps: RotatesInTwoSteps, by "T1" | "T2";
        no_noscript_fall_back: NoFallBack, by "outcome" | "progress" | "L8";
        check_then_register: TellsListenersOnly, by "waiting" | "progress";
    } }
    bugs! { before_redis(Rotating) {
        next_rounded_down: NextRoundedDown, by "T4" | "waiting" | "linearisable";
        non_idempotent_automatic_retry: RepeatsTheUnknown, by "T2" | "T1";
    } }
}
