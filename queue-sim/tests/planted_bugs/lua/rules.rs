//! Bugs in the scripts' changes of messages, and in their answers.

use super::edit::{Edit, Edits, edits};

edits! {
    ACK_IGNORES_THE_TOKEN {
        "leasing/settle_and_lease": "ending[singles], forgotten[singles] = sub(settlement, 2, 15), sub(settlement, 2, 8)" =>
            "ending[singles], forgotten[singles] = sub(settlement, 2, 15), sub(settlement, 2, 8)
             for _, each in ipairs(call('ZRANGE', LEASES, 0, -1)) do
               if #each == 14 and sub(each, 1, 7) == forgotten[singles] then ending[singles] = each end
             end";
        "leasing/settle": "members[k] = sub(asked[k], 2, 15)" =>
            "members[k] = sub(asked[k], 2, 15)
             for _, each in ipairs(call('ZRANGE', LEASES, 0, -1)) do
               if sub(each, 1, 7) == sub(members[k], 1, 7) then members[k] = each end
             end";
    }
    LIVE_AT_ITS_DEADLINE {
        "lib/reclaim": "call('ZRANGEBYSCORE', LEASES, '-inf', now_text, 'WITHSCORES'" =>
            "call('ZRANGEBYSCORE', LEASES, '-inf', '(' .. now_text, 'WITHSCORES'";
        "leasing/settle": "tonumber(deadlines[k]) <= now" => "tonumber(deadlines[k]) < now";
        "leasing/extend": "tonumber(deadlines[k]) > now" => "tonumber(deadlines[k]) >= now";
    }
    ACK_AFTER_EXPIRY {
        "leasing/settle_and_lease": "  reclaim()\n  return run(settle" =>
            "if settlements == 0 then reclaim() end\nreturn run(settle";
        "leasing/settle": " or tonumber(deadlines[k]) <= now" => "";
    }
    EXTEND_REVIVES_THE_EXPIRED {
        "leasing/extend": "reclaim()\n  local deadline" => "local deadline";
        "leasing/extend": "deadlines[k] and tonumber(deadlines[k]) > now" => "deadlines[k]";
    }
    TOKEN_REUSED {
        "leasing/settle_and_lease": "math.max(last_token + 1, now_micros)" => "now_micros";
    }
    NACK_KEEPS_ITS_LEASE {
        "leasing/settle": "ended[#ended + 1] = member" =>
            "ended[#ended + 1] = byte(ARGV[from + k - 1], 1) == 97 and member or nil";
    }
    POP_WITHOUT_A_LEASE {
        "leasing/settle_and_lease": "string.format('%d', now + lease_time)" => "'9007199254740991'";
    }
    TIMED_FROM_THE_PUSH {
        "leasing/settle_and_lease": "leases[2 * k - 1] = deadline" =>
            "leases[2 * k - 1] = string.format('%d', decode('>I7', frames[k], 9) + lease_time)";
        "leasing/fast_lease": "leases[2 * k] = deadline, id" =>
            "leases[2 * k] = string.format('%d', decode('>I7', frame, 9) + lease_time), id";
        "leasing/fast_lease": "call('ZADD', LEASES, deadline, batch)" =>
            "call('ZADD', LEASES, string.format('%d', decode('>I7', reply[4], 9) + lease_time), batch)";
    }
    EXTEND_TAKES_THE_LATER {
        "leasing/extend": "leases[#leases + 1] = deadline" =>
            "leases[#leases + 1] = math.max(deadline, tonumber(deadlines[k]))";
    }
    RETURNED_TO_THE_TAIL {
        "list/line": "back[#back + 1] = -1" => "back[#back + 1] = accepted";
    }
    PROMOTED_TO_THE_HEAD {
        "list/line": "  join_tail(due)" =>
            "  local back = {}
               for k = 1, #due do give_back(back, due[k]) end
               call('ZADD', LINE, unpack(back))
               wake_up(ARRIVALS, #due)";
    }
    EXPIRY_IS_FREE {
        "lib/reclaim": "attempts_of(frame) + 1" => "attempts_of(frame)";
    }
    RELEASE_CHARGES {
        "leasing/settle": "give_back(back, id, frame, now)" =>
            "call('HSET', FRAMES, id, reframe(frame, attempts + 1))
             give_back(back, id, frame, now)";
    }
    POISON_CIRCLES {
        "lib/reclaim": "if attempts >= max_attempts then" => "if false then";
        "leasing/settle":
            " and attempts + 1 < tonumber(string.match(config, 'max_attempts=(%d+)'))" => "";
    }
    LEASES_WHILE_PAUSED {
        "leasing/settle_and_lease": "wants > 0 and not is_paused" => "wants > 0";
    }
    LIMIT_IS_CHECKED_BEFORE_THE_BATCH {
        "lib/limits": "math.min(asked_for, math.max(at_once - leases, 0))" =>
            "leases < at_once and asked_for or 0";
    }
    TOKENS_COME_BACK_TWICE {
        "lib/limits": "math.max(now - at, 0) * most" => "math.max(now - at, 0) * most * 2";
    }
    FREED_PLACE_WAKES_NOBODY {
        "leasing/settle_and_lease": "if (allowed_of or hold) and ended > leased and any_left() then" => "if false then";
    }
    DUPLICATE_EXTENDS_THE_MARK {
        "lib/push_options": "return mark and first_ids[mark.key]" =>
            "if mark and first_ids[mark.key] then
               call('ZADD', DEDUP, now + mark.window, mark.key)
             end
             return mark and first_ids[mark.key]";
    }
    TRIM_DROPS_THE_NEWEST {
        "lib/dead_letters": "call('ZRANGE', DEAD, 0, math" => "call('ZREVRANGE', DEAD, 0, math";
    }
    DEAD_LETTER_TOO_MANY {
        "lib/dead_letters": "call('ZCARD', DEAD) - cap" => "call('ZCARD', DEAD) - cap - 1";
    }
    REVIVAL_KEEPS_ATTEMPTS {
        "leasing/dead_letters": "reframe(frame, 0, now" =>
            "reframe(frame, attempts_of(frame), now";
    }
    HANDLES_GO_BY_WHAT_THEY_OPENED {
        "lib/config": "local config = meta[1]" => "local config = ARGV[2]";
    }
    RETRY_KEEPS_THE_FIRST_WHY {
        "leasing/settle": "due, due, sub(settlement, 23))" => "due, due)";
    }
    RESULT_WITHOUT_ITS_ACK {
        "leasing/settle": "    marker = keeps and marker + 1 or marker\n" =>
            "    marker = keeps and marker + 1 or marker\n    \
             if keeps then keep_result(sub(member, 1, 7), asked[k], KEYS[marker]) end\n";
    }
    RESULT_OUTLIVES_ITS_TIME {
        "leasing/find": "ends_at > now and call" => "call";
        "lib/results": "drop_results(call('ZRANGEBYSCORE', RESULT_ENDS, '-inf', now_text, 'LIMIT', 0, MANY))" => "";
    }
    RESULTS_WITHOUT_BOUND {
        "lib/results": "if excess > 0 then" => "if false then";
    }
    LAST_ATTEMPT_BY_THE_HANDLE {
        "leasing/settle_and_lease": "if meta[1] ~= ARGV[2] then" => "if false then";
    }
    PROGRESS_IGNORES_THE_TOKEN {
        "leasing/extend": "      answers[k] = 'l'\n" =>
            "      answers[k] = 'l'\n      if progress[k] then report(members[k], progress[k]) end\n";
    }
    STATE_IGNORES_THE_TOKEN {
        "leasing/settle": "      answers[k] = 'l'\n" => "      answers[k] = 'l'
      local stale = sub(members[k], 1, 7)
      local its = own_states[k] and call('HGET', FRAMES, stale)
      if its and is_valid(its, stale) then keep_state(stale, its, own_states[k]) end\n";
    }
    SETTLEMENT_LOSES_THE_STATE {
        "leasing/settle": "frame = state and keep_state(id, frame, state) or frame" =>
            "frame = keep_state(id, frame, state or '')";
    }
    EXTENSION_LOSES_THE_STATE {
        "leasing/extend": "keep_state(id, frame, own_states[k])" => "keep_state(id, frame, '')";
    }
    REVIVAL_LOSES_THE_STATE {
        "leasing/dead_letters": "call('HSET', FRAMES, id, frame)" => "local at, from = after_state(frame)
      call('HSET', FRAMES, id, sub(frame, 1, at - 1) .. sub(frame, from))";
    }
    FRESH_KEEPS_THE_STATE {
        "leasing/dead_letters": "ARGV[3] == 'fresh'" => "false";
    }
    FIND_SHOWS_THE_EXPIRED {
        "leasing/find": "local live = deadline > now" => "local live = true";
        "leasing/find": "    reclaim()\n" => "";
    }
    REVIVAL_KEEPS_WHY {
        "leasing/dead_letters": "now, now, '')" => "now, now)";
    }
    RETRY_FORGETS_THE_PUSH {
        "lib/frames": "pushed, reason = first," => "pushed, reason = head[3],";
    }
    REVIVAL_LOSES_PRIORITY {
        "leasing/dead_letters": "call('HSET', FRAMES, id, frame)" =>
            "frame = sub(frame, 1, 15) .. pack('>I2', 32768) .. sub(frame, 18)
             call('HSET', FRAMES, id, frame)";
    }
    REVIVAL_IGNORES_CAPACITY {
        "leasing/dead_letters": "occupied >= capacity" => "false";
    }
    TEXTUAL_TIES {
        "delay/queue":
            "local due = call('ZRANGEBYSCORE', LINE, '-inf', now_text, 'LIMIT', '0', max)" =>
            "local all = call('ZRANGEBYSCORE', LINE, '-inf', now_text, 'WITHSCORES')
             local found, due = {}, {}
             for k = 1, #all, 2 do
               found[#found + 1] = { tonumber(all[k + 1]), tostring((decode('>I7', all[k]))), all[k] }
             end
             table.sort(found, function(a, b)
               if a[1] ~= b[1] then return a[1] < b[1] end
               return a[2] < b[2]
             end)
             for k = 1, math.min(max, #found) do due[k] = found[k][3] end";
    }
    RETRY_KEEPS_ARRIVAL {
        "leasing/settle": "attempts + 1, due, due, " => "attempts + 1, due, nil, ";
    }
    UNCHECKED_REMOVAL {
        "lib/sorted_line": "return key ~= nil" => "return true";
    }
    KEYED_GOES_FIRST {
        "list/store": "call('ZADD', LINE, message.id, " => "call('ZADD', LINE, -1, ";
    }
    KEY_FREED_AT_DELIVERY {
        "leasing/settle_and_lease": "    local fields, holder = picked.fresh, ARGV[5]" =>
            "    local fields, holder = picked.fresh, ARGV[5]
                 free_keys(ids)";
    }
    LEASED_KEEPS_THE_KEY {
        "lib/slow_push": "      if key then\n        flush()" =>
            "      if key and holder and not holder.place then
                 flush()
               elseif key then\n        flush()";
    }
    CHAIN_FORGETS_ITS_START {
        "lib/slow_push": "(holder and holder.began or now)" => "now";
    }
    CHAIN_NEVER_ENDS {
        "lib/slow_push": "local began = longest and (holder and holder.began or now)" =>
            "local began = holder and holder.began or longest and now";
    }
    REPLACED_IS_DELIVERED {
        "lib/distinct": "  local ended = end_attachments({ holder.id })
  forget({ holder.id })
  remove_place(holder.place, holder.member)
  return ended" => "  return {}";
    }
    MOVES_THE_LEASED {
        "leasing/operators": "    answers[k - 3] = 't'\n" =>
            "    answers[k - 3] = 't'
                 for _, each in ipairs(call('ZRANGE', LEASES, 0, -1)) do
                   if sub(each, 1, 7) == id then
                     call('ZREM', LEASES, each)
                     call('ZADD', DELAYED, 0, id)
                   end
                 end\n";
    }
    MOVED_FORGETS_ITS_ATTEMPTS {
        "leasing/operators": "attempts_of(frame), due, due)" => "0, due, due)";
    }
    MOVED_FORGETS_WHY {
        "leasing/operators": "attempts_of(frame), due, due)" => "attempts_of(frame), due, due, '')";
    }
    MOVE_IGNORES_NOW {
        "leasing/operators": "due = absolute == 1 and math.max(due, now) or now + due\n  local answers, moved" =>
            "due = math.max(absolute == 1 and due or now + due, now + 5)\n  local answers, moved";
    }
    DUE_IS_IGNORED {
        "lib/slow_push": "due and due > now and due or nil" => "nil";
    }
    DUE_ARRIVES_AT_ITS_PUSH {
        "lib/push_options": "due, message.biased, due)" => "due, message.biased, now)";
    }
    CANCELS_THE_LEASED {
        "leasing/operators": "  local number = decode('>I7', ARGV[k])" =>
            "  local number, id = decode('>I7', ARGV[k]), ARGV[k]
               for _, each in ipairs(call('ZRANGE', LEASES, 0, -1)) do
                 if sub(each, 1, 7) == id then
                   call('ZREM', LEASES, each)
                   call('ZADD', DELAYED, 0, id)
                 end
               end";
    }
    CANCEL_FORGETS_THE_COUNT {
        "leasing/operators": "add_to('cancelled', #ids)" => "";
    }
    PEEK_SKIPS_THE_RETURNED {
        "leasing/peek": "local function take_ready(frame)" =>
            "local function take_ready(frame)
               if byte(frame, 1) > 0 then return true end";
    }
    MARKS_END_WITH_THEIR_MESSAGES {
        "lib/push_options": "local unique = byte(what, 1) == 117" => "local unique = true";
        "lib/push_options": "tonumber(unique and sub(what, 2) or what)" =>
            "tonumber((string.gsub(what, 'u', '')))";
    }
    OUTDATED_IS_DELIVERED {
        "lib/reclaim": "  if has_ttl then\n    end_outdated()" => "  if false then\n    end_outdated()";
    }
    BURIED_IS_DROPPED {
        "lib/push_options": ".. sub(live, 1, 1)" => ".. 'd'";
    }
    FAST_PATH_TAKES_NOTHING {
        "leasing/fast_lease": "call('LTRIM', next_list, taken_elements == 1 and '1' or taken_elements, '-1')" => "";
        "leasing/fast_lease": "call('ZREM', LINE, unpack(next_places, 1, taken))" => "";
    }
    FAST_PATH_TAKES_ONE {
        "leasing/fast_lease": "taken_elements == 1 and '1' or taken_elements, '-1')" => "'1', '-1')";
        "leasing/fast_lease": "unpack(next_places, 1, taken)" => "next_places[1]";
    }
    FAST_PATH_ACKS_THE_LOST {
        "leasing/fast_acks": "if singles == 1 and done == 0 then" => "if false then";
    }
    FAST_PATH_ACKS_ALL_OR_NONE {
        "leasing/fast_acks": "if lost[member] then" => "if next(lost) then";
    }
    FAST_PATH_ACKS_TWICE {
        "leasing/fast_acks": "each[k], lost[member], done = 'd', true, done + 1" =>
            "each[k], done = 'd', done + 1";
    }
    FAST_PATH_PASSES_THE_RETURNED {
        "list/fast_lease": "fast = call('EXISTS', LINE) == 0" => "";
    }
    FAST_PATH_OVERLOOKS_THE_RETURNED {
        "list/fast_lease": "fast = call('EXISTS', LINE) == 0" => "fast = call('EXISTS', LINE, READY) < 2";
    }
    FAST_PATH_TELLS_NO_TIME {
        "leasing/fast_lease": "math.min(expires, due)" => "math.huge";
    }
    FAST_PATH_FORGETS_THE_DELAYED {
        "leasing/fast_lease": "math.min(expires, due)" => "expires";
    }
    BATCH_LEASE_EXPIRES_AS_ONE {
        "lib/reclaim": "if is_batch then" => "if false then";
    }
    BATCH_LEASE_SETTLES_AS_A_WHOLE_ALONE {
        "leasing/settle": "split_batches(members)" => "";
    }
    SPLIT_BATCH_LEASE_LIVES_LONGER {
        "lib/batch_leases": "own[#own + 1], own[#own + 2] = expires, message" =>
            "own[#own + 1], own[#own + 2] = expires + 1, message";
    }
    BATCH_LEASE_FORGETS_ITS_ACKS {
        "lib/batch_leases": "if not has_index(indexes, k) then" => "if true then";
    }
    BATCH_LEASE_FORGETS_EARLIER_ACKS {
        "leasing/fast_acks": "acked_fields[k], before .. own" => "acked_fields[k], own";
    }
    BATCH_LEASE_IS_ACKED_TWICE {
        "leasing/fast_acks": "known and not again" => "known";
    }
    PEEK_SKIPS_THE_REST_OF_A_BATCH_LEASE {
        "leasing/peek": "return n - 1, rank" => "return 0, behind";
    }
    PEEK_SHOWS_BATCH_LEASES_AS_LEASED {
        "leasing/peek": "return one.number < other.number" =>
            "return decode('>I7', one.token) < decode('>I7', other.token)";
    }
    BATCH_LEASE_FORGETS_ITS_IDS {
        "leasing/fast_lease": "if not gapless then" => "if false then";
    }
    BATCH_LEASE_IS_SETTLED_BY_THE_NEXT_ID {
        "lib/batch_leases": "id_in(batch, of_lease - first_token + 1) ==" => "id_in(batch, of_lease - first_token + 2) ==";
    }
}
