//! Grouped queues.

mod memory {
    use queue_memory::planted::Bug;

    use crate::flaw::Flaw::*;

    leasing_bugs_in_memory!(Grouped);
    bugs! { in_memory(Grouped) {
        duplicate_extends_the_mark: Bug::DuplicateExtendsTheMark, by "L9";
        due_is_ignored: Bug::DueIsIgnored, by "D1";
        place_survives_its_lease: Bug::PlaceSurvivesItsLease, by "progress" | "L7" | "waiting" | "linearisable";
        group_ignores_its_limit: Bug::GroupIgnoresItsLimit, by "G1" | "G2";
        retried_to_the_tail_of_its_group: Bug::RetriedToTheTailOfItsGroup, by "G2" | "linearisable";
        new_group_catches_up: Bug::NewGroupCatchesUp, by "linearisable";
        empty_group_stays: Bug::EmptyGroupStays, by "linearisable";
        waiting_keeps_its_place: Bug::WaitingKeepsItsPlace, by "progress" | "L7" | "waiting" | "linearisable";
    } }
}

mod redis {
    use crate::{
        flaw::Flaw::*,
        lua::{self, Edit, Edits, edits},
        steps::*,
    };

    edits! {
        PLACE_SURVIVES_ITS_LEASE {
            "lib/reclaim": "  end_leases(members)\nend\n\n-- The first" =>
                "  local usual = end_places
                 end_places = nil
                 end_leases(members)
                 end_places = usual
end\n\n-- The first";
        }
        GROUP_IGNORES_ITS_LIMIT {
            "grouped/queue": "local is_free = state.held < per_group" => "local is_free = true";
            "grouped/queue": "per_group - state_of(waiting[k]).held" => "per_group";
        }
        RETURNED_TO_THE_TAIL_OF_ITS_GROUP {
            "grouped/queue": "group_of(frame) .. '\\0'" => "group_of(frame) .. '\\1' .. string.rep('\\255', 14)";
        }
        FREED_GROUP_WAKES_NOBODY {
            "grouped/queue": "came = came + regroup(" => "regroup(";
            "leasing/settle_and_lease": "(allowed_of or hold) and ended" => "allowed_of and ended";
        }
        NEW_GROUP_CATCHES_UP {
            "grouped/queue": "turn = virtual + 1\n    end" => "turn = 1\n    end";
        }
        EMPTY_GROUP_STAYS {
            "grouped/queue": "call('HDEL', GROUPS, name)" => "";
        }
        PUSH_WAKES_NOBODY {
            "grouped/push": "wake_up(ARRIVALS, can_run)" => "";
        }
    }

    leasing_bugs_on_redis!(Grouped);
    ready_at_once_bugs_on_redis!(Grouped);
    bugs! { in_scripts(Grouped) {
        returned_to_the_wrong_end: RETURNED_TO_THE_TAIL_OF_ITS_GROUP, by "G2" | "L11";
        duplicate_extends_the_mark: lua::DUPLICATE_EXTENDS_THE_MARK, by "L9";
        place_survives_its_lease: PLACE_SURVIVES_ITS_LEASE,
            by "progress" | "L7" | "waiting" | "linearisable" | "leftovers";
        group_ignores_its_limit: GROUP_IGNORES_ITS_LIMIT, by "G1" | "G2";
        freed_group_wakes_nobody: FREED_GROUP_WAKES_NOBODY, by "waiting" | "progress";
        new_group_catches_up: NEW_GROUP_CATCHES_UP, by "linearisable";
        empty_group_stays: EMPTY_GROUP_STAYS, by "leftovers" | "linearisable";
        push_does_not_wake_a_sleeper: PUSH_WAKES_NOBODY, by "waiting" | "progress";
    } }
}
