//! Reliable queues.

mod memory {
    use queue_memory::planted::Bug;

    use crate::flaw::Flaw::*;

    leasing_bugs_in_memory!(Reliable);
    bugs! { in_memory(Reliable) {
        duplicate_extends_the_mark: Bug::DuplicateExtendsTheMark, by "L9";
        last_in_first_out: Bug::LastInFirstOut, by "F1";
        removed_stays_listed: Bug::RemovedStaysListed, by "operators";
        promoted_to_the_head: Bug::PromotedToTheHead, by "L11" | "linearisable";
        due_is_ignored: Bug::DueIsIgnored, by "D1";
        peek_skips_the_returned: Bug::PeekSkipsTheReturned, by "L16" | "linearisable";
    } }
    bugs! { before_memory(Reliable) {
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
        LAST_IN_FIRST_OUT {
            "reliable/push": "if not handed_over then\n    call('RPUSH', READY," =>
                "if not handed_over then\n    call('LPUSH', READY,";
            "list/store": "call('RPUSH', READY," => "call('LPUSH', READY,";
        }
        PUSH_WAKES_NOBODY {
            "lib/slow_push": "wake_up(ARRIVALS, arrived)" => "";
            "reliable/push": "wake_up(ARRIVALS, last - accepted)" => "";
            "lib/wake_up": "wake_up(ARRIVALS, 1, false, true)" => "nil";
        }
    }

    edits! {
        PACKS_ARE_COUNTED_FOR_EVER {
            "list/fast_lease": "taken_elements - taken - (frames_back and #frames_back or 0)" => "0";
        }
        CUT_PACK_KEEPS_ITS_IDS {
            "lib/packs": "decode('>I7', frame, ID) + count)" => "decode('>I7', frame, ID))";
        }
        CUT_PACK_LOSES_ITS_REST {
            "leasing/fast_lease": "call('LPUSH', next_list, unpack(frames_back))" => "";
        }
        PACKS_TURN_ROUND {
            "list/line": "for k = last, math.max(last - MANY, 0) + 1, -1 do" =>
                "for k = math.max(last - MANY, 0) + 1, last do";
        }
        OPENED_PACKS_ARE_COUNTED {
            "list/line": "add_to('packed', from - #heads)" => "";
        }
        OPENED_PACKS_ARE_LOST {
            "list/line": "call('LPUSH', READY, unpack(back))" => "";
        }
        CANCELLED_IN_A_PACK_IS_COUNTED {
            "list/lookup": "left and -1 or used - 1" => "0";
        }
        CANCELLED_IN_A_PACK_STAYS {
            "lib/packs": "if payload ~= '' and last" => "if last";
        }
        PEEK_SHOWS_THE_ACKED_OF_A_BATCH_LEASE {
            "leasing/peek": " and not has_index(acked, n)" => "";
        }
        BATCH_LEASE_OF_PACKS_LOSES_FRAMES {
            "lib/batch_leases": "ipairs(own or { elements[at] })" => "ipairs({ elements[at] })";
        }
    }

    leasing_bugs_on_redis!(Reliable);
    fast_path_bugs_on_redis!(Reliable);
    ready_at_once_bugs_on_redis!(Reliable);
    bugs! { in_scripts(Reliable) {
        returned_to_the_wrong_end: lua::RETURNED_TO_THE_TAIL, by "L11";
        duplicate_extends_the_mark: lua::DUPLICATE_EXTENDS_THE_MARK, by "L9";
        fast_path_overlooks_the_returned: lua::FAST_PATH_OVERLOOKS_THE_RETURNED,
            by "linearisable" | "progress" | "L11" | "waiting";
        fast_path_passes_the_returned: lua::FAST_PATH_PASSES_THE_RETURNED,
            by "L11" | "linearisable";
        last_in_first_out: LAST_IN_FIRST_OUT, by "F1" | "F2";
        queue_leaves_its_hints: lua::QUEUE_LEAVES_ITS_HINTS, by "operators";
        promoted_to_the_head: lua::PROMOTED_TO_THE_HEAD, by "L11" | "linearisable";
        holes_are_not_counted: lua::HOLES_ARE_NOT_COUNTED, by "L5" | "leftovers";
        delayed_is_nothing_ahead: lua::DELAYED_IS_NOTHING_AHEAD, by "waiting" | "progress";
        told_and_gone: lua::TOLD_AND_GONE, by "waiting" | "progress";
        push_does_not_wake_a_sleeper: PUSH_WAKES_NOBODY, by "waiting" | "progress";
        packs_are_counted_for_ever: PACKS_ARE_COUNTED_FOR_EVER, by "L5" | "leftovers";
        cut_pack_keeps_its_ids: CUT_PACK_KEEPS_ITS_IDS, by "L1" | "F1" | "linearisable";
        cut_pack_loses_its_rest: CUT_PACK_LOSES_ITS_REST, by "progress" | "L5";
        packs_turn_round: PACKS_TURN_ROUND, by "F1" | "F2";
        opened_packs_are_counted: OPENED_PACKS_ARE_COUNTED, by "L5" | "leftovers";
        opened_packs_are_lost: OPENED_PACKS_ARE_LOST, by "L5" | "progress";
        cancelled_in_a_pack_is_counted: CANCELLED_IN_A_PACK_IS_COUNTED, by "L5" | "leftovers";
        cancelled_in_a_pack_stays: CANCELLED_IN_A_PACK_STAYS, by "L15" | "leftovers";
        peek_shows_the_acked_of_a_batch_lease: PEEK_SHOWS_THE_ACKED_OF_A_BATCH_LEASE, by "L16" | "linearisable";
        batch_lease_of_packs_loses_frames: BATCH_LEASE_OF_PACKS_LOSES_FRAMES,
            by "L1" | "L4" | "L5" | "L6" | "L13" | "L16" | "linearisable";
    } }
    bugs! { between(Reliable) {
        multi_for_lua: NumbersThenPushes, by "L5" | "L9";
    } }
    bugs! { before_redis(Reliable) {
        batch_backwards: BatchBackwards, by "F2" | "F1";
    } }
}
