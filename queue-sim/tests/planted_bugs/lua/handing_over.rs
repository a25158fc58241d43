//! Bugs of a push that leases its message to a waiter.

use super::edit::{Edit, Edits, edits};

edits! {
    HANDED_OVER_WITHOUT_A_LEASE {
        "shared/hand_over": "    call('ZADD', LEASES, string.format('%d', deadline), lease)\n" => "";
    }
    HANDED_OVER_AND_READY {
        "reliable/push_plain": "if not handed_over then" => "if true then";
        "priority/enqueue_plain": "if not handed_over then" => "if true then";
        "bounded/offer_plain": "if not handed_over then" => "if true then";
    }
    HANDED_OVER_OUT_OF_TURN {
        "shared/hand_over": " and call('EXISTS', LINE, ready) == 0 then" => " then";
    }
    HANDED_OVER_WHILE_PAUSED {
        "shared/hand_over": "not string.find(flags, 'p', 1, true) and " => "";
    }
    HANDED_OVER_BY_AN_OLD_TOKEN {
        "shared/hand_over": "token + 1 or 0, now_micros)" => "token or 0, 1)";
    }
    HANDED_OVER_WITHOUT_A_NAME {
        "shared/hand_over": "if holder ~= '' then" => "if false then";
    }
    HANDED_OVER_WITHOUT_A_BODY {
        "shared/hand_over": "    call('HSET', FRAMES, id, frame)\n" => "";
    }
    HANDED_OVER_AND_NOT_EXPECTED {
        "shared/hand_over": "if deadline < quiet_until then" => "if false then";
    }
    HANDED_OVER_FOR_AN_HOUR {
        "shared/hand_over": "now + lease_time" => "now + 3600000";
    }
    PUSH_OF_ONE_WAKES_NOBODY {
        "shared/hand_over": "  call('ZREM', ARRIVALS, 'armed')\n  arm(ARRIVALS, 1)\n" => "";
    }
}
