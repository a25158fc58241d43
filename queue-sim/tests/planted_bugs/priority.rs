//! Priority queues.

mod memory {
    use queue_memory::planted::Bug;

    use crate::flaw::*;

    leasing_bugs_in_memory!(Priority);
    bugs! { in_memory(Priority) {
        attempts_stay: Bug::AttemptsStay, by "linearisable" | "L6";
        cap_trims_nothing: Bug::CapTrimsNothing, by "linearisable" | "L13";
        duplicate_extends_the_mark: Bug::DuplicateExtendsTheMark, by "L9";
        last_in_first_out: Bug::LastInFirstOut, by "P2";
        packing_overflows: Bug::PackingOverflows, by "P1";
        promoted_to_the_head: Bug::PromotedToTheHead, by "L11" | "linearisable";
        retry_keeps_arrival: Bug::RetryKeepsArrival, by "P4";
        due_arrives_at_its_push: Bug::DueArrivesAtItsPush, by "P4";
        due_is_ignored: Bug::DueIsIgnored, by "D1";
        peek_skips_the_returned: Bug::PeekSkipsTheReturned, by "L16" | "linearisable";
        revival_loses_priority: Bug::RevivalLosesPriority, by "P3" | "L13" | "linearisable";
    } }
}

mod redis {
    use crate::{
        flaw::*,
        lua::{self, Edit, Edits, edits},
        steps::*,
    };

    edits! {
        RETURNED_TO_THE_TAIL_OF_ITS_PRIORITY {
            "priority/moves": "-2 * urgency_of(frame) - 1" => "-2 * urgency_of(frame)";
            "priority/moves": "  back[#back + 1] = id" =>
                "  back[#back + 1] = ageing and id or string.rep(pack('>I7', accepted), 2) .. id";
        }
        LAST_IN_FIRST_OUT_OF_ITS_PRIORITY {
            "priority/enqueue_plain": "places[2 * k] = place, id" =>
                "places[2 * k] = place, ageing and id or pack('>I7', 1000000 - accepted - k) .. id";
            "priority/enqueue": "places[at + 2] = id" =>
                "places[at + 2] = ageing and id or pack('>I7', 1000000 - accepted - new) .. id";
        }
        PACKING_OVERFLOWS {
            "priority/enqueue_plain": "-2 * priority" => "-((2 * priority + 32768) % 65536 - 32768)";
            "priority/enqueue": "-2 * (biased - 32768)" =>
                "-((2 * (biased - 32768) + 32768) % 65536 - 32768)";
        }
        ENQUEUE_WAKES_NOBODY {
            "priority/enqueue": "arm(ARRIVALS, at / 2)" => "";
            "priority/enqueue_plain": "arm(ARRIVALS, count)" => "";
        }
    }

    leasing_bugs_on_redis!(Priority);
    handing_over_bugs!(Priority);
    bugs! { in_scripts(Priority) {
        usual_turn_wakes_nobody: lua::USUAL_TURN_WAKES_NOBODY, by "waiting" | "D5" | "progress";
        handles_go_by_what_they_opened: lua::HANDLES_GO_BY_WHAT_THEY_OPENED,
            by "linearisable" | "L6" | "L13";
        returned_to_the_wrong_end: RETURNED_TO_THE_TAIL_OF_ITS_PRIORITY, by "L11";
        duplicate_extends_the_mark: lua::DUPLICATE_EXTENDS_THE_MARK, by "L9";
        last_in_first_out: LAST_IN_FIRST_OUT_OF_ITS_PRIORITY, by "P2";
        packing_overflows: PACKING_OVERFLOWS, by "P1";
        retry_keeps_arrival: lua::RETRY_KEEPS_ARRIVAL, by "P4";
        due_arrives_at_its_push: lua::DUE_ARRIVES_AT_ITS_PUSH, by "P4";
        due_is_ignored: lua::DUE_IS_IGNORED, by "D1";
        delayed_push_is_not_expected: lua::DELAYED_PUSH_IS_NOT_EXPECTED,
            by "L7" | "waiting" | "progress" | "leftovers" | "linearisable";
        retry_is_not_expected: lua::RETRY_IS_NOT_EXPECTED,
            by "L7" | "waiting" | "progress" | "leftovers" | "linearisable";
        delayed_push_does_not_wake_a_sleeper: lua::DELAYED_PUSH_WAKES_NOBODY,
            by "waiting" | "progress";
        cancel_leaves_its_place: lua::CANCEL_LEAVES_ITS_PLACE, by "leftovers";
        revival_loses_priority: lua::REVIVAL_LOSES_PRIORITY, by "P3" | "L13" | "linearisable";
        push_does_not_wake_a_sleeper: ENQUEUE_WAKES_NOBODY, by "waiting" | "progress";
    } }
}
