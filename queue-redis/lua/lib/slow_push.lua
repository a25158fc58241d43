-- The slow path of a push: options, too little room, or something to reclaim.
-- Returns the last id if all messages were accepted with consecutive ids, and nothing else happened. Otherwise an
-- array of three numbers for each message: result, id, the other message's id. Results are 0 accepted, 1 accepted and
-- another evicted, 2 replaced another, 3 duplicate, 4 full.
-- needs: ARRIVALS, DEDUP, META, PROMOTED, accepted, add_delayed, biased_of, distinct_keys, drops_oldest, due_times
-- needs: duplicate_of, find_duplicates, finish_options, give_key, has_ttl, has_unique, holder_of, leave_room
-- needs: longest_waits, mark, message_count, next_due, next_victim, payloads, read_room, reclaim, replace, store
-- needs: times_to_live, unmark, uploads, wake_up, write_marks
--- @include "lib/wake_up"
local function slow_path()
  --- @include "{kind}/push#store"
  --- @include "lib/push_options"
  --- @include "lib/push_options#delayed"

  -- `distinct` has the functions of `lib/distinct` if a message has a distinct key.
  local function push(distinct)
    local room = math.huge
    if read_room then
      local refused
      room, refused = read_room()
      if refused then
        return refused
      end
    end
    -- Messages that may leave before they are delivered are in places that let them, so they are not handed over.
    local can_hand_over = message_count == 1 and now < next_due and not (uploads[1] or times_to_live[1] or distinct)
    -- A later message of this call may remove a message of this call, and its attachments end.
    has_ttl, has_unique = has_ttl or DEDUP, has_unique or DEDUP
    find_duplicates()

    -- Messages without a distinct key are stored together. `arrived` is the number of processes to wake up.
    local pending, arrived = {}, 0
    local function flush()
      if not pending[1] then
        return
      end
      local ready, delayed = {}, {}
      for k = 1, #pending do
        -- A delay queue has no other place for a message that is not due.
        local list = PROMOTED and pending[k].due and delayed or ready
        list[#list + 1] = pending[k]
      end
      pending = {}
      call('HSET', META, 'accepted', accepted)
      if ready[1] then
        arrived = arrived + store(ready, can_hand_over)
      end
      if delayed[1] then
        add_delayed(delayed)
      end
    end

    -- Accepts an entry; `holder` has had its distinct key.
    local function admit(entry, holder)
      accepted = accepted + 1
      local key, due, longest = distinct_keys[entry], due_times[entry], longest_waits[entry]
      local began = longest and (holder and holder.began or now)
      due = due and longest and math.min(due, began + longest) or due
      pending[#pending + 1] = {
        id = accepted,
        payload = payloads[entry],
        biased = biased_of and biased_of[entry],
        due = due and due > now and due or nil,
        may_leave = key or times_to_live[entry],
      }
      mark(entry, accepted)
      if key then
        flush()
        distinct.give_key(key, pack('>I7', accepted), holder, began)
      end
      return accepted
    end

    -- Accepts an entry in place of the next message in delivery order.
    local function displace(entry, holder)
      flush()
      local victim, drop = next_victim()
      if not drop then
        return
      elseif not victim then
        drop()
        return admit(entry, holder)
      end
      local id = admit(entry, holder)
      flush()
      write_marks()
      unmark(drop())
      return id, (decode('>I7', victim))
    end

    local answers, all_accepted = {}, true
    local function answer(entry, what, id, other)
      all_accepted = all_accepted and what == 0
      answers[3 * entry - 2], answers[3 * entry - 1], answers[3 * entry] = what, id, other
    end

    for k = 1, message_count do
      local first = duplicate_of(k)
      local holder = not first and distinct_keys[k] and distinct.holder_of(distinct_keys[k]) or nil
      if first then
        answer(k, 3, first, 0)
      elseif holder and holder.place then
        answer(k, 2, admit(k, holder), (decode('>I7', holder.id)))
        write_marks()
        unmark(distinct.replace(holder))
      elseif room > 0 then
        room = room - 1
        answer(k, 0, admit(k, holder), 0)
      else
        local id, evicted
        if drops_oldest(k) then
          id, evicted = displace(k, holder)
        end
        answer(k, evicted and 1 or id and 0 or 4, id or 0, evicted or 0)
      end
    end
    flush()
    finish_options()
    if arrived > 0 then
      wake_up(ARRIVALS, arrived)
    end
    if leave_room then
      leave_room(room)
    end
    return all_accepted and accepted or answers
  end

  local has_keys = next(distinct_keys) ~= nil
  if now < next_due and not has_keys then
    return push()
  end
  --- @include "lib/reclaim"
  --- @include "lib/distinct"

  reclaim()
  return push(has_keys and { give_key = give_key, holder_of = holder_of, replace = replace })
end

return slow_path()
