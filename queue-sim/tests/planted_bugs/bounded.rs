//! Bounded queues.

mod memory {
    use queue_memory::planted::Bug;

    use crate::flaw::*;

    leasing_bugs_in_memory!(Bounded);
    bugs! { in_memory(Bounded) {
        attempts_stay: Bug::AttemptsStay, by "linearisable" | "L6";
        cap_trims_nothing: Bug::CapTrimsNothing, by "linearisable" | "L13";
        off_by_one: Bug::CapacityOffByOne, by "B1";
        evicts_the_newest: Bug::EvictsTheNewest, by "B2";
        wrong_evictee: Bug::EvictsTheDelayed, by "B2" | "linearisable";
        evicts_what_is_leased: Bug::EvictsTheLeased, by "B2" | "B5";
        full_before_duplicate: Bug::FullBeforeDuplicate, by "L9";
        refusal_leaves_a_mark: Bug::RefusalLeavesAMark, by "L9";
        revival_ignores_capacity: Bug::RevivalIgnoresCapacity, by "B1" | "L13";
        keyed_goes_first: Bug::KeyedGoesFirst, by "B7" | "F1";
        key_freed_at_delivery: Bug::KeyFreedAtDelivery, by "B7" | "linearisable";
        promoted_to_the_head: Bug::PromotedToTheHead, by "L11" | "linearisable";
        due_is_ignored: Bug::DueIsIgnored, by "D1";
        peek_skips_the_returned: Bug::PeekSkipsTheReturned, by "L16" | "linearisable";
        room_wakes_nobody: Bug::RoomWakesNobody, by "B4" | "waiting" | "progress";
    } }
    bugs! { before_memory(Bounded) {
        eviction_not_reported: SilentEviction, by "B2" | "L5";
        resize_not_reported: SilentResize, by "B5" | "L5";
        recent_oldest_first: RecentBackwards, by "B6";
        batch_backwards: BatchBackwards, by "F2" | "F1";
    } }
}

mod redis {
    use crate::{flaw::*, lua, steps::*};

    leasing_bugs_on_redis!(Bounded);
    bugs! { in_scripts(Bounded) {
        handles_go_by_what_they_opened: lua::HANDLES_GO_BY_WHAT_THEY_OPENED,
            by "linearisable" | "L6" | "L13";
        returned_to_the_wrong_end: lua::RETURNED_TO_THE_TAIL, by "L11";
        usual_turn_overlooks_the_returned: lua::USUAL_TURN_OVERLOOKS_THE_RETURNED,
            by "linearisable" | "progress" | "L11" | "waiting";
        usual_turn_passes_the_returned: lua::USUAL_TURN_PASSES_THE_RETURNED,
            by "L11" | "linearisable";
        usual_turn_tells_of_no_room: lua::USUAL_TURN_TELLS_OF_NO_ROOM, by "B4" | "waiting" | "progress";
        usual_turn_leaves_the_key: lua::USUAL_TURN_LEAVES_THE_KEY,
            by "B7" | "leftovers" | "linearisable";
        off_by_one: lua::CAPACITY_OFF_BY_ONE, by "B1";
        evicts_the_newest: lua::EVICTS_THE_NEWEST, by "B2";
        wrong_evictee: lua::EVICTS_THE_DELAYED, by "B2" | "linearisable";
        evicts_what_is_leased: lua::EVICTS_THE_LEASED, by "B2" | "B5";
        full_before_duplicate: lua::FULL_BEFORE_DUPLICATE, by "L9";
        refusal_leaves_a_mark: lua::REFUSAL_LEAVES_A_MARK, by "L9";
        revival_ignores_capacity: lua::REVIVAL_IGNORES_CAPACITY, by "B1" | "L13";
        keyed_goes_first: lua::KEYED_GOES_FIRST, by "B7" | "F1";
        key_freed_at_delivery: lua::KEY_FREED_AT_DELIVERY, by "B7" | "linearisable";
        promoted_to_the_head: lua::PROMOTED_TO_THE_HEAD, by "L11" | "linearisable";
        due_is_ignored: lua::DUE_IS_IGNORED, by "D1";
        delayed_push_is_not_expected: lua::DELAYED_PUSH_IS_NOT_EXPECTED,
            by "L7" | "waiting" | "progress" | "leftovers" | "linearisable";
        retry_is_not_expected: lua::RETRY_IS_NOT_EXPECTED,
            by "L7" | "waiting" | "progress" | "leftovers" | "linearisable";
        delayed_push_does_not_wake_a_sleeper: lua::DELAYED_PUSH_WAKES_NOBODY,
            by "waiting" | "progress";
        cancel_leaves_its_place: lua::CANCEL_LEAVES_ITS_PLACE, by "leftovers";
        holes_are_not_counted: lua::HOLES_ARE_NOT_COUNTED, by "L5" | "leftovers";
        push_does_not_wake_a_sleeper: lua::OFFER_WAKES_NOBODY, by "waiting" | "progress";
        eviction_leaves_the_body: lua::EVICTION_LEAVES_THE_BODY, by "leftovers";
        replacement_leaves_the_body: lua::REPLACEMENT_LEAVES_THE_BODY, by "leftovers";
        replacement_leaves_the_key: lua::REPLACEMENT_LEAVES_THE_KEY, by "leftovers";
        resize_leaves_the_body: lua::RESIZE_LEAVES_THE_BODY, by "leftovers";
        reconfigure_keeps_the_capacity: lua::RECONFIGURE_KEEPS_THE_CAPACITY, by "B5" | "B1";
        delayed_is_nothing_ahead: lua::DELAYED_IS_NOTHING_AHEAD, by "waiting" | "progress";
        death_makes_no_room: lua::DEATH_MAKES_NO_ROOM, by "B4" | "waiting" | "progress";
            outdated_makes_no_room: lua::OUTDATED_MAKES_NO_ROOM, by "waiting" | "B4" | "progress";
        room_wakes_nobody: lua::ROOM_WAKES_NOBODY, by "B4" | "waiting" | "progress";
    } }
    bugs! { between(Bounded) {
        check_then_push: ChecksThenPushes, by "B1";
    } }
    bugs! { before_redis(Bounded) {
        eviction_not_reported: SilentEviction, by "B2" | "L5";
        resize_not_reported: SilentResize, by "B5" | "L5";
        recent_oldest_first: RecentBackwards, by "B6";
        batch_backwards: BatchBackwards, by "F2" | "F1";
    } }
}
