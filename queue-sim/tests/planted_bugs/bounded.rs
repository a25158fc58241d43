//! Bounded queues.

mod memory {
    use queue_memory::planted::Bug;

    use crate::flaw::Flaw::*;

    leasing_bugs_in_memory!(Bounded);
    bugs! { in_memory(Bounded) {
        off_by_one: Bug::CapacityOffByOne, by "B1";
        evicts_the_newest: Bug::EvictsTheNewest, by "B2";
        wrong_evictee: Bug::EvictsTheDelayed, by "B2" | "linearisable";
        evicts_what_is_leased: Bug::EvictsTheLeased, by "B2" | "B5";
        full_before_duplicate: Bug::FullBeforeDuplicate, by "L9";
        refusal_leaves_a_mark: Bug::RefusalLeavesAMark, by "L9";
        revival_ignores_capacity: Bug::RevivalIgnoresCapacity, by "B1" | "L13";
        keyed_goes_first: Bug::KeyedGoesFirst, by "B7" | "F1";
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
    use crate::{
        flaw::Flaw::*,
        lua::{self, Edit, Edits, edits},
        steps::*,
    };

    edits! {
        REFUSAL_LEAVES_A_MARK {
            "lib/slow_push": "answer(k, evicted and 1 or id and 0 or 4," =>
                "if not id then mark(k, 1) end answer(k, evicted and 1 or id and 0 or 4,";
        }
        FULL_BEFORE_DUPLICATE {
            "lib/slow_push": "    if first then" => "    if first and room > 0 then";
        }
        CAPACITY_OFF_BY_ONE {
            "lib/slow_push": "room > 0 then" => "room >= 0 then";
        }
        EVICTS_THE_NEWEST {
            "bounded/push": "local picked = pick(1)" =>
                "local picked = pick(1)
                 local newest = call('RPOP', READY)
                 if newest then
                   picked = { frames = { newest }, fresh = {}, members = {}, damaged = {}, listed = 0, passed = 0 }
                 end";
        }
        EVICTS_THE_DELAYED {
            "bounded/push": "not victim and call('ZRANGE', DELAYED, 0, 0)[1]" =>
                "call('ZRANGE', DELAYED, 0, 0)[1]";
            "bounded/push": "victim = victim or delayed" => "victim = delayed or victim";
        }
        EVICTS_THE_LEASED {
            "bounded/push": "victim = victim or delayed" =>
                "victim = victim or delayed
                 local leased = not victim and call('ZRANGE', LEASES, 0, 0)[1]
                 if leased then
                   call('ZREM', LEASES, leased)
                   victim = sub(leased, 1, 7)
                 end";
        }
        RECONFIGURE_KEEPS_THE_CAPACITY {
            "bounded/capacity": "if tonumber(call('HGET', META, 'capacity')) == capacity then" => "if left then";
        }
        OFFER_WAKES_NOBODY {
            "lib/slow_push": "wake_up(ARRIVALS, arrived)" => "";
        }
        ROOM_WAKES_NOBODY {
            "bounded/queue": "wake_up(ROOM, #ids)" => "";
        }
        EVICTION_LEAVES_THE_BODY {
            "bounded/push": "forget({ victim })" => "";
        }
        RESIZE_LEAVES_THE_BODY {
            "bounded/capacity": "    forget(ids)\n" => "";
        }
        PUSH_COUNTS_A_BATCH_LEASE_AS_ONE {
            "bounded/push": "occupied + (tonumber(stored[3]) or 0)" => "occupied";
            "bounded/push": "call('ZCARD', LEASES) + (tonumber(stored[3]) or 0)" => "call('ZCARD', LEASES)";
        }
        FAST_PATH_LEAVES_THE_KEY {
            "bounded/queue": "if singles > 0 and call('EXISTS', OWNED) == 1 then" => "if false then";
        }
    }

    leasing_bugs_on_redis!(Bounded);
    fast_path_bugs_on_redis!(Bounded);
    ready_at_once_bugs_on_redis!(Bounded);
    bugs! { in_scripts(Bounded) {
        returned_to_the_wrong_end: lua::RETURNED_TO_THE_TAIL, by "L11";
        fast_path_overlooks_the_returned: lua::FAST_PATH_OVERLOOKS_THE_RETURNED,
            by "linearisable" | "progress" | "L11" | "waiting";
        fast_path_passes_the_returned: lua::FAST_PATH_PASSES_THE_RETURNED,
            by "L11" | "linearisable";
        fast_path_tells_of_no_room: lua::FAST_PATH_TELLS_OF_NO_ROOM, by "B4" | "waiting" | "progress";
        push_counts_a_batch_lease_as_one: PUSH_COUNTS_A_BATCH_LEASE_AS_ONE, by "B1" | "linearisable";
        fast_path_leaves_the_key: FAST_PATH_LEAVES_THE_KEY,
            by "B7" | "leftovers" | "linearisable";
        off_by_one: CAPACITY_OFF_BY_ONE, by "B1";
        evicts_the_newest: EVICTS_THE_NEWEST, by "B2";
        wrong_evictee: EVICTS_THE_DELAYED, by "B2" | "linearisable";
        evicts_what_is_leased: EVICTS_THE_LEASED, by "B2" | "B5";
        full_before_duplicate: FULL_BEFORE_DUPLICATE, by "L9";
        refusal_leaves_a_mark: REFUSAL_LEAVES_A_MARK, by "L9";
        revival_ignores_capacity: lua::REVIVAL_IGNORES_CAPACITY, by "B1" | "L13";
        keyed_goes_first: lua::KEYED_GOES_FIRST, by "B7" | "F1";
        promoted_to_the_head: lua::PROMOTED_TO_THE_HEAD, by "L11" | "linearisable";
        holes_are_not_counted: lua::HOLES_ARE_NOT_COUNTED, by "L5" | "leftovers";
        push_does_not_wake_a_sleeper: OFFER_WAKES_NOBODY, by "waiting" | "progress";
        eviction_leaves_the_body: EVICTION_LEAVES_THE_BODY, by "leftovers";
        resize_leaves_the_body: RESIZE_LEAVES_THE_BODY, by "leftovers";
        reconfigure_keeps_the_capacity: RECONFIGURE_KEEPS_THE_CAPACITY, by "B5" | "B1";
        delayed_is_nothing_ahead: lua::DELAYED_IS_NOTHING_AHEAD, by "waiting" | "progress";
        death_makes_no_room: lua::DEATH_MAKES_NO_ROOM, by "B4" | "waiting" | "progress";
            outdated_makes_no_room: lua::OUTDATED_MAKES_NO_ROOM, by "waiting" | "B4" | "progress";
        room_wakes_nobody: ROOM_WAKES_NOBODY, by "B4" | "waiting" | "progress";
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
