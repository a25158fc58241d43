//! Grouped queues.

mod memory {
    use queue_memory::planted::Bug;

    use crate::flaw::Flaw::*;

    leasing_bugs_in_memory!(Grouped);
    bugs! { in_memory(Grouped) {
        duplicate_extends_the_mark: Bug::DuplicateExtendsTheMark, by "L9";
        due_is_ignored: Bug::DueIsIgnored, by "D1";
        delivery_has_no_value: Bug::DeliveryHasNoValue, by "L20" | "linearisable";
        place_survives_its_lease: Bug::PlaceSurvivesItsLease, by "progress" | "L7" | "waiting" | "linearisable";
        group_ignores_its_limit: Bug::GroupIgnoresItsLimit, by "G1" | "G2";
        retried_to_the_tail_of_its_group: Bug::RetriedToTheTailOfItsGroup, by "G2" | "linearisable";
        new_group_catches_up: Bug::NewGroupCatchesUp, by "linearisable";
        empty_group_stays: Bug::EmptyGroupStays, by "linearisable";
        waiting_keeps_its_place: Bug::WaitingKeepsItsPlace, by "progress" | "L7" | "waiting" | "linearisable";
        paused_group_runs: Bug::PausedGroupRuns, by "linearisable";
        death_parks_nobody: Bug::DeathParksNobody, by "linearisable";
        weight_is_ignored: Bug::WeightIsIgnored, by "linearisable";
        rule_never_ends: Bug::RuleNeverEnds, by "linearisable" | "waiting" | "progress" | "L7";
        freed_by_an_end_unseen: Bug::FreedByAnEndUnseen, by "linearisable" | "waiting";
        token_of_another_group: Bug::TokenOfAnotherGroup, by "Q3" | "linearisable";
        another_rate_fills_the_bucket: Bug::AnotherRateFillsTheBucket, by "linearisable";
        token_of_a_group_unseen: Bug::TokenOfAGroupUnseen, by "linearisable" | "waiting" | "progress" | "L7";
        replaced_keeps_its_place: Bug::ReplacedKeepsItsPlace, by "progress" | "L7" | "waiting" | "linearisable";
        moved_loses_its_place: Bug::MovedLosesItsPlace, by "G2" | "linearisable";
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
            "grouped/queue": " and state.held < most_of(state)" => "";
            "grouped/queue": "math.max(most_of(state) - state.held, 0)" => "most_of(state)";
        }
        PAUSED_GROUP_RUNS {
            "grouped/queue": "local places = (state.paused_until or 0) > 0 and 0 or math.max" => "local places = math.max";
            "grouped/queue": "local is_free = (state.paused_until or 0) == 0 and" => "local is_free =";
        }
        DEATH_PARKS_NOBODY {
            "lib/dead_letters": "if park and why" => "if false and why";
        }
        WEIGHT_IS_IGNORED {
            "grouped/queue": "virtual + 1 / state.weight" => "virtual + 1";
            "grouped/queue": ", step = 1 / state.weight" => ", step = 1";
        }
        RULE_NEVER_ENDS {
            "grouped/queue": "(state.rule_ends or 0) <= now then" => "false then";
        }
        RESUMED_GROUP_WAKES_NOBODY {
            "grouped/queue": "wake_up(ARRIVALS, math.max(arrived, 1))" => "";
        }
        FREED_BY_AN_END_UNSEEN {
            "grouped/queue": "local ends = has_ttl and not loose and" => "local ends = false and";
            "leasing/settle": "if may_end or call" => "if call";
        }
        RETURNED_TO_THE_TAIL_OF_ITS_GROUP {
            "grouped/queue": "group_of(frame) .. '\\0'" => "group_of(frame) .. '\\1' .. string.rep('\\255', 14)";
        }
        FREED_GROUP_WAKES_NOBODY {
            "grouped/queue": "return regroup(names, ready)" => "return 0 * regroup(names, ready)";
            "leasing/settle_and_lease": "(allowed_of or hold) and ended" => "allowed_of and ended";
        }
        NEW_GROUP_CATCHES_UP {
            "grouped/queue": "turn = virtual + 1\n    end" => "turn = 1\n    end";
        }
        EMPTY_GROUP_STAYS {
            "grouped/queue": "call('HDEL', GROUPS, unpack(gone))" => "";
        }
        TOKEN_OF_ANOTHER_GROUP {
            "grouped/queue": "rates.spend(state)" => "rates.spend(state_of(picked.names[picked.ids[1]]))";
        }
        ANOTHER_RATE_FILLS_THE_BUCKET {
            "grouped/queue": "state.used, state.at = math.ceil(count_tokens(state) / whole * (most * per)), now" =>
                "state.used = nil";
        }
        TOKEN_OF_A_GROUP_UNSEEN {
            "grouped/queue": "first_end(state, waits and state.token_comes)" => "first_end(state)";
        }
        FULL_BUCKET_STAYS {
            "grouped/queue": "with_fills and rates and" => "false and";
            "grouped/queue": "soonest = math.min(soonest, state.full)" => "";
        }
        MOVED_LOSES_ITS_PLACE {
            "leasing/operators": "      call('ZADD', DELAYED, due, id)\n" =>
                "      if end_places then end_places({ id }) end\n      call('ZADD', DELAYED, due, id)\n";
        }
        PUSH_WAKES_NOBODY {
            "grouped/push": "can_hand_over and 0 or can_run" => "0";
        }
    }

    leasing_bugs_on_redis!(Grouped);
    ready_at_once_bugs_on_redis!(Grouped);
    bugs! { in_scripts(Grouped) {
        returned_to_the_wrong_end: RETURNED_TO_THE_TAIL_OF_ITS_GROUP, by "G2" | "L11";
        moved_loses_its_place: MOVED_LOSES_ITS_PLACE, by "G2" | "linearisable";
        duplicate_extends_the_mark: lua::DUPLICATE_EXTENDS_THE_MARK, by "L9";
        place_survives_its_lease: PLACE_SURVIVES_ITS_LEASE,
            by "progress" | "L7" | "waiting" | "linearisable" | "leftovers";
        group_ignores_its_limit: GROUP_IGNORES_ITS_LIMIT, by "G1" | "G2";
        freed_group_wakes_nobody: FREED_GROUP_WAKES_NOBODY, by "waiting" | "progress";
        new_group_catches_up: NEW_GROUP_CATCHES_UP, by "linearisable";
        empty_group_stays: EMPTY_GROUP_STAYS, by "leftovers" | "linearisable";
        push_does_not_wake_a_sleeper: PUSH_WAKES_NOBODY, by "waiting" | "progress";
        paused_group_runs: PAUSED_GROUP_RUNS, by "linearisable" | "leftovers";
        death_parks_nobody: DEATH_PARKS_NOBODY, by "linearisable";
        weight_is_ignored: WEIGHT_IS_IGNORED, by "linearisable";
        rule_never_ends: RULE_NEVER_ENDS, by "linearisable" | "waiting" | "progress" | "L7" | "leftovers";
        resumed_group_wakes_nobody: RESUMED_GROUP_WAKES_NOBODY, by "waiting";
        freed_by_an_end_unseen: FREED_BY_AN_END_UNSEEN, by "linearisable" | "waiting";
        token_of_another_group: TOKEN_OF_ANOTHER_GROUP, by "Q3" | "linearisable";
        another_rate_fills_the_bucket: ANOTHER_RATE_FILLS_THE_BUCKET, by "linearisable";
        token_of_a_group_unseen: TOKEN_OF_A_GROUP_UNSEEN,
            by "linearisable" | "waiting" | "progress" | "L7" | "leftovers";
        full_bucket_stays: FULL_BUCKET_STAYS, by "leftovers";
    } }
}
