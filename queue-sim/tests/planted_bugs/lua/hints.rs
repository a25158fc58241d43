//! Bugs by which no waiter is notified, or none polls in time.

use super::edit::{Edit, Edits, edits};

edits! {
    DEATH_MAKES_NO_ROOM {
        "shared/tidy": "gone(dead)" => "disown(dead)";
    }
    /// On a list each of the two hides the other's bug: a call that promotes sends one hint more than it
    /// takes messages.
    DELAYED_IS_NOTHING_AHEAD {
        "shared/list": "call('EXISTS', READY, LINE, DELAYED) > 0" =>
            "call('EXISTS', READY, LINE) > 0";
        "leasing/usual_turn": "call('EXISTS', next_list or LINE, DELAYED)" => "call('EXISTS', next_list or LINE)";
        "shared/list_moves": "  call('ZADD', LINE, unpack(places))
  arm(ARRIVALS, #ids)" =>
            "  call('ZADD', LINE, unpack(places))";
    }
    EXPIRY_WAKES_NOBODY {
        "shared/tidy": "arm(ARRIVALS, #back / 2)" => "";
    }
    DELAYED_PUSH_WAKES_NOBODY {
        "shared/delay_new": "arm(ARRIVALS, 1)" => "";
    }
    OUTDATED_MAKES_NO_ROOM {
        "shared/outdate": "gone(ended)" => "disown(ended)";
    }
    LEASE_IS_NOT_EXPECTED_TO_END {
        "leasing/settle_and_lease": "    expect(now + lease_time)\n" => "";
        "leasing/usual_turn": "if now + lease_time < quiet_until then" => "if false then";
    }
    RETRY_IS_NOT_EXPECTED {
        "shared/settle": "    expect(due)\n" => "";
    }
    DELAYED_PUSH_IS_NOT_EXPECTED {
        "shared/delay_new": "    expect(due)\n" => "";
    }
    EXTENSION_IS_NOT_EXPECTED_TO_END {
        "leasing/extend": "  expect(deadline)\n" => "";
    }
    USUAL_TURN_WAKES_NOBODY {
        "leasing/usual_turn": "call('EXISTS', next_list or LINE, DELAYED) > 0" => "false";
    }
    USUAL_TURN_TELLS_OF_NO_ROOM {
        "leasing/acks": "arm(makes_room, done)" => "";
    }
    TOLD_AND_GONE {
        "waiting/pass_on": "arm(KEYS[1], tonumber(ARGV[2]))" => "";
    }
}
