//! Bugs by which no waiter is notified, or none polls in time.

use super::edit::{Edit, Edits, edits};

edits! {
    DEATH_MAKES_NO_ROOM {
        "lib/reclaim": "free(dead)" => "end_attachments(dead)";
    }
    /// On a list each of the two hides the other's bug: a call that promotes sends one hint more than it
    /// takes messages.
    DELAYED_IS_NOTHING_AHEAD {
        "list/line": "call('EXISTS', READY, LINE, DELAYED) > 0" =>
            "call('EXISTS', READY, LINE) > 0";
        "leasing/fast_lease": "call('EXISTS', next_list or LINE, DELAYED)" => "call('EXISTS', next_list or LINE)";
        "list/line": "  call('ZADD', LINE, unpack(places))
  wake_up(ARRIVALS, #ids)" =>
            "  call('ZADD', LINE, unpack(places))";
    }
    END_MARKER_IS_ARMED {
        "waiting/marker": " and not string.find(KEYS[1], ':end%-%x+$') then" => " then";
    }
    EXPIRY_WAKES_NOBODY {
        "lib/reclaim": "wake_up(ARRIVALS, #back / 2)" => "";
    }
    DELAYED_PUSH_WAKES_NOBODY {
        "lib/push_options": "wake_up(ARRIVALS, 1)" => "";
    }
    OUTDATED_MAKES_NO_ROOM {
        "lib/reclaim": "free(ended)" => "end_attachments(ended)";
    }
    LEASE_IS_NOT_EXPECTED_TO_END {
        "leasing/settle_and_lease": "    lower_next_due(now + lease_time)\n" => "";
        "leasing/fast_lease": "if now + lease_time < next_due then" => "if false then";
    }
    RETRY_IS_NOT_EXPECTED {
        "leasing/settle": "    lower_next_due(due)\n" => "";
    }
    DELAYED_PUSH_IS_NOT_EXPECTED {
        "lib/push_options": "    lower_next_due(due)\n" => "";
    }
    MOVE_WAKES_NOBODY {
        "leasing/operators": "wake_up(ARRIVALS, moved)" => "";
        "leasing/operators": "wake_up(ARRIVALS, 1)" => "";
    }
    MOVE_IS_NOT_EXPECTED {
        "leasing/operators": "    lower_next_due(due)\n" => "";
    }
    EXTENSION_IS_NOT_EXPECTED_TO_END {
        "leasing/extend": "  lower_next_due(deadline)\n" => "";
    }
    FAST_PATH_WAKES_NOBODY {
        "leasing/fast_lease": "call('EXISTS', next_list or LINE, DELAYED) > 0" => "false";
    }
    FAST_PATH_TELLS_OF_NO_ROOM {
        "leasing/fast_acks": "wake_up(room_marker, done)" => "";
    }
    TOLD_AND_GONE {
        "waiting/marker": "wake_up(KEYS[1], tonumber(ARGV[2]))" => "";
    }
}
