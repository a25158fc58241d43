//! Rotating queues.

mod memory {
    use queue_memory::planted::Bug;

    use crate::flaw::Flaw::*;

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
    use crate::{
        flaw::Flaw::*,
        lua::{self, Edit, Edits, edits},
        steps::*,
    };

    edits! {
        INSERTED_NEAR_THE_FRONT {
            "rotating/insert": "= number + new, id" => "= (number + new) / 1000000, id";
        }
        REMOVES_THE_HEAD {
            "rotating/ring": "local id = ARGV[k]" =>
                "local id = call('ZRANGE', RING, 0, 0)[1] or ARGV[k]";
        }
        VISITS_TWICE {
            "rotating/rotate": "local items = due_items()" =>
                "local items = due_items()
                 if items[1] and #items < max then items[#items + 1] = items[1] end";
        }
        PACE_FROM_THE_DUE_TIME {
            "rotating/rotate": "pace and now + pace" =>
                "pace and (tonumber(call('ZSCORE', DUE, visited[k])) or now) + pace";
        }
        PACE_KEEPS_DUE_TIMES {
            "rotating/ring": "local part = call(" =>
                "local part = pace and to == FRESH and {} or call(";
            "rotating/ring": "call('UNLINK', DUE)" =>
                "if not (pace and to == FRESH) then call('UNLINK', DUE) end";
        }
        INSERT_WAKES_NOBODY {
            "rotating/insert": "wake_up(ARRIVALS, new)" => "";
        }
        DUE_ITEMS_WAKE_NOBODY {
            "rotating/rotate": "if not pace or (call('ZREM', FRESH, unpack(visited)) and call('EXISTS', FRESH) == 1)" =>
                "local fresh_left = pace and call('ZREM', FRESH, unpack(visited)) and false
                 if not pace or fresh_left";
            "rotating/rotate": "    or tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]) <= now then" =>
                "    then";
        }
        REMOVAL_LEAVES_THE_BODY {
            "rotating/ring": "call('HDEL', BODIES, id)" => "";
        }
        REMOVAL_LEAVES_THE_LARGE_BODY {
            "rotating/ring": "call('HDEL', BODIES, reference)" => "";
        }
        PRESENT_ITEM_LEAVES_ITS_UPLOAD {
            "rotating/insert": "call('HDEL', BODIES, unpack(refused))" => "";
        }
        INSERTED_BODY_STAYS_NOTED {
            "rotating/insert": "call('ZREM', UPLOADS, unpack(taken))" => "";
        }
        LARGE_ITEM_IS_INSERTED_TWICE {
            "rotating/insert": "    if not waits then\n      return redis" =>
                "    if false then\n      return redis";
        }
    }

    bugs! { in_scripts(Rotating) {
        inserted_near_the_front: INSERTED_NEAR_THE_FRONT, by "T3" | "T2" | "linearisable";
        removes_the_head: REMOVES_THE_HEAD, by "T2";
        removal_leaves_the_body: REMOVAL_LEAVES_THE_BODY, by "leftovers";
        removal_leaves_the_large_body: REMOVAL_LEAVES_THE_LARGE_BODY, by "leftovers";
        present_item_leaves_its_upload: PRESENT_ITEM_LEAVES_ITS_UPLOAD, by "leftovers";
        inserted_body_stays_noted: INSERTED_BODY_STAYS_NOTED, by "leftovers";
        large_item_is_inserted_twice: LARGE_ITEM_IS_INSERTED_TWICE, by "leftovers" | "T1" | "linearisable";
        visits_twice: VISITS_TWICE, by "T1";
        pace_from_the_due_time: PACE_FROM_THE_DUE_TIME, by "T4";
        pace_keeps_due_times: PACE_KEEPS_DUE_TIMES, by "linearisable";
        queue_leaves_its_hints: lua::QUEUE_LEAVES_ITS_HINTS, by "operators";
        insert_does_not_wake_a_sleeper: INSERT_WAKES_NOBODY, by "waiting" | "progress";
        due_items_wake_nobody: DUE_ITEMS_WAKE_NOBODY, by "waiting" | "progress";
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
