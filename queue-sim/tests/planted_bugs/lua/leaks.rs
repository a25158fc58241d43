//! Bugs that leave data of gone messages, or remove data of present ones.

use super::edit::{Edit, Edits, edits};

edits! {
    CANCEL_LEAVES_THE_BODY {
        "leasing/operators": "forget(ids)\n    add_to('cancelled', #ids)" => "add_to('cancelled', #ids)";
    }
    DISCARD_LEAVES_THE_BODY {
        "leasing/dead_letters": "forget(ids)" => "";
    }
    PURGE_LEAVES_THE_BODY {
        "leasing/operators": "forget(ids)\n  end\n  return removed" => "end\n  return removed";
    }
    TRIM_LEAVES_THE_BODY {
        "lib/dead_letters": "forget(oldest)" => "";
    }
    ACK_AMONG_OTHERS_LEAVES_THE_BODY {
        "leasing/settle": "forget(done)" => "";
    }
    QUEUE_LEAVES_ITS_HINTS {
        "leasing/queues": "call('UNLINK', unpack(KEYS))" =>
            "call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4], unpack(KEYS, 6))";
    }
    CANCEL_LEAVES_ITS_PLACE {
        "lib/line": "call('HDEL', FRAMES, unpack(kept))" => "";
    }
    HOLES_ARE_NOT_COUNTED {
        "list/lookup": "holes = add_to('holes', used or 1)" => "holes = 1";
    }
    KEY_OUTLIVES_ITS_MESSAGE {
        "lib/attachments": "  if has_distinct then\n    free_keys(ids)" => "  if false then\n    free_keys(ids)";
    }
    REPLACEMENT_LEAVES_THE_BODY {
        "lib/distinct": "forget({ holder.id })" => "";
    }
    REPLACEMENT_LEAVES_THE_KEY {
        "lib/distinct": "call('HDEL', OWNED or FRAMES, OWNS .. holder.id)" => "";
        "lib/distinct": "end_attachments({ holder.id })" => "{}";
    }
    UNIQUE_OUTLIVES_ITS_MESSAGE {
        "lib/attachments": "if call('HGET', FIRSTS, key) == ids[k] then" => "if false then";
    }
    HOLDER_OUTLIVES_ITS_LEASE {
        "lib/reclaim": "call('HDEL', FRAMES, unpack(names))" => "";
    }
    OUTDATED_STAYS_AFTER_RETURN {
        "lib/attachments": "if not has_ttl or not ids[1] then" => "if true then";
    }
    LEASED_STAYS_AMONG_ENDS {
        "leasing/settle_and_lease": "call('ZREM', ENDS, unpack(ids))" => "";
    }
    OUTDATED_LEAVES_THE_BODY {
        "lib/reclaim": "forget(dropped)" => "";
    }
    BODY_OUTLIVES_ITS_MESSAGE {
        "lib/attachments": "call('HDEL', BODIES, unpack(references))" => "";
    }
    BODY_GOES_WITH_DEATH {
        "lib/dead_letters": "local function add_dead_letter(id, frame, why, reason)" =>
            "local function add_dead_letter(id, frame, why, reason)
             forget({ id })";
    }
    REFUSED_BODY_STAYS {
        "lib/push_options": "call('HDEL', BODIES, unpack(refused))" => "";
    }
    UPLOAD_IS_TAKEN_TWICE {
        "lib/push_options": "    if not waits then\n      return redis" =>
            "    if false then\n      return redis";
    }
    FAST_PATH_LEAVES_THE_HOLDER {
        "leasing/fast_acks": "named_holders and done or 0" => "0";
    }
    ACKED_BATCH_LEASE_STAYS {
        "leasing/fast_acks": "fields[#fields + 1], fields[#fields + 2], fields[#fields + 3] = batch, 'h' .. batch," =>
            "fields[#fields + 1], fields[#fields + 2] = 'h' .. batch,";
        "leasing/fast_acks": "local place = own == '' and n - 1 or byte(own, n) - 128\n      fields[#fields + 1] =" =>
            "local place = own == '' and n - 1 or byte(own, n) - 128\n      local _ =";
    }
    ACKED_BATCH_LEASE_LEAVES_THE_HOLDER {
        "leasing/fast_acks": "fields[#fields + 1], fields[#fields + 2], fields[#fields + 3] = batch, 'h' .. batch," =>
            "fields[#fields + 1], fields[#fields + 2] = batch,";
    }
    ACKED_BATCH_LEASE_LEAVES_ITS_ACKS {
        "leasing/fast_acks": "fields[#fields + 3] = batch, 'h' .. batch, acked_fields[k]" => "fields[#fields + 3] = batch, 'h' .. batch";
    }
    ACKED_BATCH_LEASE_IS_COUNTED {
        "leasing/fast_acks": "call('HINCRBY', META, 'uncounted', #finished - count)" => "";
    }
    SPLIT_BATCH_LEASE_IS_COUNTED {
        "lib/batch_leases": "add_to('uncounted', 1 + #indexes - count)" => "";
    }
    SPLIT_BATCH_LEASE_COUNTS_THE_ACKED {
        "lib/batch_leases": "add_to('uncounted', 1 + #indexes - count)" => "add_to('uncounted', 1 - count)";
    }
    SPLIT_BATCH_LEASE_STAYS {
        "lib/batch_leases": "  call('ZREM', LEASES, batch)\n" => "";
    }
    SPLIT_BATCH_LEASE_LEAVES_THE_HOLDER {
        "lib/batch_leases": "call('HDEL', FRAMES, batch, 'h' .. batch, 'a' .. batch)" => "call('HDEL', FRAMES, batch, 'a' .. batch)";
    }
    SPLIT_BATCH_LEASE_LEAVES_ITS_ACKS {
        "lib/batch_leases": "call('HDEL', FRAMES, batch, 'h' .. batch, 'a' .. batch)" => "call('HDEL', FRAMES, batch, 'h' .. batch)";
    }
}
