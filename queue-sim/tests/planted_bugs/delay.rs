//! Delay queues.

mod memory {
    use queue_memory::planted::Bug;

    use crate::flaw::Flaw::*;

    leasing_bugs_in_memory!(Delay);
    bugs! { in_memory(Delay) {
        duplicate_extends_the_mark: Bug::DuplicateExtendsTheMark, by "L9";
        pops_the_latest: Bug::LatestFirst, by "D2";
        lexicographic_ties: Bug::TextualTies, by "D2";
        earlier_due_time_wakes_nobody: Bug::EarlierWakesNobody, by "D5" | "waiting" | "progress";
    } }
}

mod redis {
    use crate::{
        flaw::Flaw::*,
        lua::{self, Edit, Edits, edits},
        steps::*,
    };

    edits! {
        RETURNED_TO_THE_HEAD {
            "delay/queue": "back[#back + 1] = at" => "back[#back + 1] = 0";
        }
        LATEST_FIRST {
            "delay/queue": "call('ZRANGEBYSCORE', LINE, '-inf', now_text, 'LIMIT', '0', max)" =>
                "call('ZREVRANGEBYSCORE', LINE, now_text, '-inf', 'LIMIT', '0', max)";
        }
        SCHEDULE_WAKES_NOBODY {
            "delay/push": "\n    wake_up(ARRIVALS, math.max(1, ready))" => "";
            "lib/slow_push": "wake_up(ARRIVALS, arrived)" => "";
        }
        EARLIER_WAKES_NOBODY {
            "delay/push": "\n  if not head or first_due < head or" => "\n  if not head or";
            "delay/push": "local is_first = first_due < head_due" => "local is_first = head_due == math.huge";
        }
        NOT_YET_DUE_IS_NOTHING_AHEAD {
            "delay/queue": "call('EXISTS', LINE) > 0" =>
                "call('ZCOUNT', LINE, '-inf', now_text) > 0";
        }
    }

    leasing_bugs_on_redis!(Delay);
    fast_path_bugs_on_redis!(Delay);
    bugs! { in_scripts(Delay) {
        freed_place_wakes_nobody: lua::FREED_PLACE_WAKES_NOBODY, by "waiting" | "D5" | "progress";
        fast_path_wakes_nobody: lua::FAST_PATH_WAKES_NOBODY, by "waiting" | "D5" | "progress";
        returned_to_the_wrong_end: RETURNED_TO_THE_HEAD, by "L11" | "D2" | "linearisable";
        duplicate_extends_the_mark: lua::DUPLICATE_EXTENDS_THE_MARK, by "L9";
        pops_the_latest: LATEST_FIRST, by "D2";
        lexicographic_ties: lua::TEXTUAL_TIES, by "D2";
        cancel_leaves_the_body: lua::CANCEL_LEAVES_THE_BODY, by "leftovers";
        unchecked_zrem: lua::UNCHECKED_REMOVAL, by "L15" | "L5" | "L3";
        push_does_not_wake_a_sleeper: SCHEDULE_WAKES_NOBODY, by "D5" | "waiting" | "progress";
        not_yet_due_is_nothing_ahead: NOT_YET_DUE_IS_NOTHING_AHEAD, by "D5" | "progress";
        earlier_due_time_wakes_nobody: EARLIER_WAKES_NOBODY, by "D5" | "waiting" | "progress";
        batch_lease_forgets_its_ids: lua::BATCH_LEASE_FORGETS_ITS_IDS,
            by "L1" | "L3" | "L4" | "L5" | "L6" | "leftovers" | "linearisable";
        batch_lease_is_settled_by_the_next_id: lua::BATCH_LEASE_IS_SETTLED_BY_THE_NEXT_ID, by "L4" | "linearisable";
        peek_shows_batch_leases_as_leased: lua::PEEK_SHOWS_BATCH_LEASES_AS_LEASED, by "L16" | "linearisable";
    } }
}
