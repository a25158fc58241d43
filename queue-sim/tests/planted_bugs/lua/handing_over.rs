//! Bugs of a push that leases its message to a waiter.

use super::edit::{Edit, Edits, edits};

edits! {
    HANDED_OVER_WITHOUT_A_LEASE {
        "lib/wake_up": "    call('ZADD', LEASES, string.format('%d', deadline), lease)\n" => "";
    }
    HANDED_OVER_AND_READY {
        "reliable/push": "if not handed_over then" => "if true then";
        "priority/push": "if not handed_over then" => "if true then";
        "bounded/push": "if not handed_over then" => "if true then";
        "grouped/push": "    regroup({ names[1] })\n    return 0\n" => "    regroup({ names[1] })\n";
    }
    HANDED_OVER_OUT_OF_TURN {
        "lib/wake_up": " and call('EXISTS', LINE, ready) == 0 then" => " then";
    }
    HANDED_OVER_WHILE_PAUSED {
        "lib/wake_up": "not string.find(flags, '[plr]')" => "not string.find(flags, '[lr]')";
    }
    HANDED_OVER_BEYOND_THE_LIMIT {
        "lib/wake_up": "not string.find(flags, '[plr]')" => "not string.find(flags, 'p', 1, true)";
    }
    HANDED_OVER_BY_AN_OLD_TOKEN {
        "lib/wake_up": "token + 1 or 0, now_micros)" => "token or 0, 1)";
    }
    HANDED_OVER_WITHOUT_A_NAME {
        "lib/wake_up": "if holder ~= '' then" => "if false then";
    }
    HANDED_OVER_WITHOUT_A_BODY {
        "lib/wake_up": "    call('HSET', FRAMES, id, frame)\n" => "";
    }
    HANDED_OVER_AND_NOT_EXPECTED {
        "lib/wake_up": "if deadline < next_due then" => "if false then";
    }
    HANDED_OVER_FOR_AN_HOUR {
        "lib/wake_up": "now + lease_time" => "now + 3600000";
    }
    PUSH_OF_ONE_WAKES_NOBODY {
        "lib/wake_up": "  call('ZREM', ARRIVALS, 'armed')\n  wake_up(ARRIVALS, 1)\n" => "";
    }
}
