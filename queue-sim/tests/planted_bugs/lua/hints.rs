//! Bugs by which nobody is told, or nobody looks in time.

use super::edit::{Edit, Edits};

edits! {
    PUSH_WAKES_NOBODY {
        "reliable/push": "arm(ARRIVALS, #frames)" => "";
        "reliable/push_plain": "arm(ARRIVALS, count)" => "";
    }
    SCHEDULE_WAKES_NOBODY {
        "delay/schedule": "arm(ARRIVALS, math.max(1, ready))" => "";
        "delay/schedule_plain": "arm(ARRIVALS, math.max(1, ready))" => "";
    }
    ENQUEUE_WAKES_NOBODY {
        "priority/enqueue": "arm(ARRIVALS, at / 2)" => "";
        "priority/enqueue_plain": "arm(ARRIVALS, count)" => "";
    }
    OFFER_WAKES_NOBODY {
        "bounded/offer": "arm(ARRIVALS, ready)" => "";
    }
    INSERT_WAKES_NOBODY {
        "rotating/insert": "arm(ARRIVALS, new)" => "";
    }
    ROOM_WAKES_NOBODY {
        "bounded/distinct": "arm(ROOM, #ids)" => "";
    }
    EARLIER_WAKES_NOBODY {
        "delay/schedule": "not head or first_due < head or" => "not head or";
        "delay/schedule_plain": "not head or first_due < head or" => "not head or";
    }
    DEATH_MAKES_NO_ROOM {
        "shared/tidy": "gone(dead)" => "disown(dead)";
    }
    /// On a list either would do: a call that promotes sends one hint more than it takes messages.
    DELAYED_IS_NOTHING_AHEAD {
        "shared/list": "call('EXISTS', READY, LINE, DELAYED) > 0" =>
            "call('EXISTS', READY, LINE) > 0";
        "leasing/usual_turn": "call('EXISTS', next_list or LINE, DELAYED)" => "call('EXISTS', next_list or LINE)";
        "shared/list_moves": "  call('ZADD', LINE, unpack(places))
  arm(ARRIVALS, #ids)" =>
            "  call('ZADD', LINE, unpack(places))";
    }
    NOT_YET_DUE_IS_NOTHING_AHEAD {
        "delay/line": "call('EXISTS', LINE) > 0" =>
            "call('ZCOUNT', LINE, '-inf', now_text) > 0";
    }
    EXPIRY_WAKES_NOBODY {
        "shared/tidy": "arm(ARRIVALS, #back / 2)" => "";
    }
    DUE_ITEMS_WAKE_NOBODY {
        "rotating/rotate": "if not pace or (call('ZREM', FRESH, unpack(visited)) and call('EXISTS', FRESH) == 1)" =>
            "local fresh_left = pace and call('ZREM', FRESH, unpack(visited)) and false
             if not pace or fresh_left";
        "rotating/rotate": "    or tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]) <= now then" =>
            "    then";
    }
    DELAYED_PUSH_WAKES_NOBODY {
        "shared/delay_new": "arm(ARRIVALS, 1)" => "";
    }
    OUTDATED_MAKES_NO_ROOM {
        "shared/outdate": "gone(ended)" => "disown(ended)";
    }
    LEASE_IS_NOT_EXPECTED_TO_END {
        "leasing/turn": "    expect(now + ttl)\n" => "";
        "leasing/usual_turn": "if now + ttl < quiet_until then" => "if false then";
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
        "leasing/acks": "arm(makes_room, acked_now)" => "";
    }
    TOLD_AND_GONE {
        "waiting/pass_on": "arm(KEYS[1], tonumber(ARGV[2]))" => "";
    }
}
