//! Priority queues.

mod memory {
    use queue_memory::planted::Bug;

    use crate::flaw::Flaw::*;

    leasing_bugs_in_memory!(Priority);
    bugs! { in_memory(Priority) {
        duplicate_extends_the_mark: Bug::DuplicateExtendsTheMark, by "L9";
        last_in_first_out: Bug::LastInFirstOut, by "P2";
        packing_overflows: Bug::PackingOverflows, by "P1";
        promoted_to_the_head: Bug::PromotedToTheHead, by "L11" | "linearisable";
        retry_keeps_arrival: Bug::RetryKeepsArrival, by "P4";
        due_arrives_at_its_push: Bug::DueArrivesAtItsPush, by "P4";
        due_is_ignored: Bug::DueIsIgnored, by "D1";
        peek_skips_the_returned: Bug::PeekSkipsTheReturned, by "L16" | "linearisable";
        delivery_has_no_value: Bug::DeliveryHasNoValue, by "L20" | "linearisable";
        revival_loses_priority: Bug::RevivalLosesPriority, by "P3" | "L13" | "linearisable";
        moved_keeps_its_arrival: Bug::MovedKeepsItsArrival, by "P4" | "linearisable";
    } }
}

mod redis {
    use crate::{
        flaw::Flaw::*,
        lua::{self, Edit, Edits, edits},
        steps::*,
    };

    edits! {
        RETURNED_TO_THE_TAIL_OF_ITS_PRIORITY {
            "priority/queue": "-2 * urgency_of(frame) - 1" => "-2 * urgency_of(frame)";
            "priority/queue": "  back[#back + 1] = id" =>
                "  back[#back + 1] = ageing and id or string.rep(pack('>I7', accepted), 2) .. id";
        }
        LAST_IN_FIRST_OUT_OF_ITS_PRIORITY {
            "priority/push": "places[2 * k] = place, id" =>
                "places[2 * k] = place, ageing and id or pack('>I7', 1000000 - accepted - k) .. id";
            "priority/push": "    places[2 * k] = id" =>
                "    places[2 * k] = ageing and id or pack('>I7', 1000000 - message.id) .. id";
        }
        PACKING_OVERFLOWS {
            "priority/push": "-2 * priority" => "-((2 * priority + 32768) % 65536 - 32768)";
            "priority/push": "-2 * urgency" => "-((2 * urgency + 32768) % 65536 - 32768)";
        }
        MOVED_KEEPS_ITS_ARRIVAL {
            "leasing/operators": "attempts_of(frame), due, due)" => "attempts_of(frame), due)";
        }
        ENQUEUE_WAKES_NOBODY {
            "lib/slow_push": "wake_up(ARRIVALS, arrived)" => "";
            "priority/push": "wake_up(ARRIVALS, count)" => "";
        }
    }

    leasing_bugs_on_redis!(Priority);
    fast_path_bugs_on_redis!(Priority);
    ready_at_once_bugs_on_redis!(Priority);
    bugs! { in_scripts(Priority) {
        end_marker_is_armed: lua::END_MARKER_IS_ARMED, by "leftovers";
        fast_path_wakes_nobody: lua::FAST_PATH_WAKES_NOBODY, by "waiting" | "D5" | "progress";
        returned_to_the_wrong_end: RETURNED_TO_THE_TAIL_OF_ITS_PRIORITY, by "L11";
        moved_keeps_its_arrival: MOVED_KEEPS_ITS_ARRIVAL, by "P4" | "linearisable";
        duplicate_extends_the_mark: lua::DUPLICATE_EXTENDS_THE_MARK, by "L9";
        last_in_first_out: LAST_IN_FIRST_OUT_OF_ITS_PRIORITY, by "P2";
        packing_overflows: PACKING_OVERFLOWS, by "P1";
        retry_keeps_arrival: lua::RETRY_KEEPS_ARRIVAL, by "P4";
        batch_lease_forgets_its_ids: lua::BATCH_LEASE_FORGETS_ITS_IDS,
            by "L1" | "L3" | "L4" | "L5" | "L6" | "leftovers" | "linearisable";
        batch_lease_is_settled_by_the_next_id: lua::BATCH_LEASE_IS_SETTLED_BY_THE_NEXT_ID, by "L4" | "linearisable";
        peek_shows_batch_leases_as_leased: lua::PEEK_SHOWS_BATCH_LEASES_AS_LEASED, by "L16" | "linearisable";
        due_arrives_at_its_push: lua::DUE_ARRIVES_AT_ITS_PUSH, by "P4";
        revival_loses_priority: lua::REVIVAL_LOSES_PRIORITY, by "P3" | "L13" | "linearisable";
        push_does_not_wake_a_sleeper: ENQUEUE_WAKES_NOBODY, by "waiting" | "progress";
    } }
}
