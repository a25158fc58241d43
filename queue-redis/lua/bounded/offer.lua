-- offer: stores messages at the tail as far as there is room.
-- KEYS[…] the queue's keys, see `bounded/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of messages
-- ARGV[4] overflow: 1 drops the oldest message if there is no room, 0 refuses the new one
-- ARGV[5] keyed: the number of messages with a distinct key
-- ARGV[6 …] payloads; then pairs of an entry's number and its distinct key; then options, see `lib/push_options`
-- Returns the last id if all messages were accepted with consecutive ids, and nothing else happened. Otherwise an
-- array of three numbers for each message: result, id, the other message's id. Results are 0 accepted, 1 accepted and
-- another evicted, 2 replaced another, 3 duplicate, 4 full.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: ARRIVALS, DEDUP, DELAYED, DISTINCT, FRAME, LEASES, LINE, META, OWNED, READY, ROOM, accepted, add_delayed
-- needs: add_to, add_to_line, duplicate_of, end_attachments, finish_options, first_ids, flags, forget, free_keys
-- needs: hand_over, has_ttl, has_unique, holes, mark, next_due, pick, place_of, read_options, reclaim, remove_picked
-- needs: remove_place, shorten, times_to_live, unreadable, uploads, wake_up, write_marks
-- gives: meta
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"
--- @include "lib/frames"
--- @include "lib/wake_up#hand_over"

-- The fast path: nothing to reclaim, no options, and room for all messages.
if now < next_due and not DEDUP and #ARGV == 5 + ARGV[3] and not string.find(flags, 'o', 1, true) then
  local count, stored = tonumber(ARGV[3]), call('HMGET', META, 'capacity', 'surplus', 'uncounted')
  local occupied = call('LLEN', READY) + call('ZCARD', LINE) + call('ZCARD', LEASES) + call('ZCARD', DELAYED)
  occupied = occupied + (tonumber(stored[3]) or 0)
  local room = (tonumber(stored[1]) or 0) - occupied - count
  if room >= 0 and (stored[2] or '0') == '0' then
    local frames = {}
    for k = 1, count do
      frames[k] = pack(FRAME, 0, accepted + k, now) .. ARGV[5 + k]
    end
    local handed_over = count == 1 and hand_over(accepted + 1, frames[1], READY)
    call('HINCRBY', META, 'accepted', count)
    if not handed_over then
      call('RPUSH', READY, unpack(frames))
    end
    if count > 1 then
      wake_up(ARRIVALS, count)
    end
    if room > 0 then
      wake_up(ROOM, math.min(MANY, room), true)
    end
    return accepted + count
  end
end

-- The slow path: options, too little room, or something to reclaim.
local function slow_path()
  --- @include "{kind}/queue#line"
  --- @include "lib/line#place_of"
  --- @include "lib/push_options#delayed"
  --- @include "lib/push_options#tail"
  --- @include "bounded/capacity#shorten"
  --- @include "bounded/capacity#unreadable"

  local function offer()
    local count, drop_oldest, keyed = tonumber(ARGV[3]), ARGV[4] == '1', tonumber(ARGV[5])
    local stored = call('HMGET', META, 'capacity', 'surplus', 'uncounted')
    local capacity, surplus = tonumber(stored[1]), tonumber(stored[2]) or 0
    if not (capacity and capacity >= 1) then
      return unreadable(stored[1])
    end
    local leased = call('ZCARD', LEASES) + (tonumber(stored[3]) or 0)
    local occupied = call('LLEN', READY) - holes + call('ZCARD', LINE) + leased + call('ZCARD', DELAYED)
    if surplus > 0 then
      local _, removed = shorten(occupied)
      occupied = occupied - removed
    end
    local ready = 0 -- number of accepted messages that are ready
    local keys = {}
    for k = 6 + count, 5 + count + 2 * keyed, 2 do
      keys[tonumber(ARGV[k])] = ARGV[k + 1]
    end
    local due_times = read_options(6 + count + 2 * keyed)
    local can_hand_over = count == 1 and now < next_due and not (due_times and uploads[1])
    -- A later message of this call may remove a message of this call, and its attachments end.
    has_ttl, has_unique = has_ttl or DEDUP, has_unique or DEDUP

    -- Messages without a key are written together. A single one may be handed over.
    local pending, notified = {}, false
    local function flush()
      if pending[1] then
        call('HSET', META, 'accepted', accepted)
        notified = can_hand_over
        if not (notified and hand_over(accepted, pending[1], READY)) then
          call('RPUSH', READY, unpack(pending))
        end
        pending = {}
      end
    end

    local function admit(entry, key)
      accepted = accepted + 1
      local due, id = due_times and due_times[entry], key and pack('>I7', accepted)
      if due then
        call('HSET', META, 'accepted', accepted)
        add_delayed({ { id = accepted, due = due, payload = ARGV[5 + entry] } })
      elseif key or due_times and times_to_live[entry] then
        call('HSET', META, 'accepted', accepted)
        add_to_line(accepted, ARGV[5 + entry])
      else
        pending[#pending + 1] = pack(FRAME, 0, accepted, now) .. ARGV[5 + entry]
      end
      if key then
        call('HSET', OWNED, id, key)
        call('HSET', DISTINCT, key, id)
      end
      ready = due and ready or ready + 1
      mark(entry, accepted)
      return accepted
    end

    -- Dedup keys whose marks ended make no duplicate of a later entry.
    local function unmark(ended)
      for k = 1, first_ids and #ended or 0 do
        first_ids[ended[k]] = nil
      end
    end

    -- Accepts an entry in place of the next message in delivery order.
    local function displace(entry, key)
      flush()
      local picked = pick(1)
      if picked.damaged[1] then
        remove_picked(picked)
        return admit(entry, key)
      end
      local victim = picked.ids[1]
      local delayed = not victim and call('ZRANGE', DELAYED, 0, 0)[1]
      victim = victim or delayed
      if not victim then
        return
      end
      local id = admit(entry, key)
      flush()
      add_to('evicted', 1)
      write_marks()
      unmark(free_keys({ victim }))
      forget({ victim })
      if delayed then
        call('ZREM', DELAYED, victim)
      else
        remove_picked(picked)
      end
      return id, (decode('>I7', victim))
    end

    local answers, all_accepted = {}, true
    local function answer(entry, what, id, other)
      all_accepted = all_accepted and what == 0
      answers[3 * entry - 2], answers[3 * entry - 1], answers[3 * entry] = what, id, other
    end

    for k = 1, count do
      local key, first = keys[k], duplicate_of(k)
      local owner = key and not first and call('HGET', DISTINCT, key)
      local place, member
      -- A key that belongs to another message replaces nothing.
      if owner and call('HGET', OWNED, owner) == key then
        place, member = place_of(owner)
      end
      if first then
        answer(k, 3, first, 0)
      elseif place then
        answer(k, 2, admit(k, key), (decode('>I7', owner)))
        add_to('replaced', 1)
        write_marks()
        unmark(end_attachments({ owner }))
        call('HDEL', OWNED, owner)
        forget({ owner })
        remove_place(place, member)
      else
        local id, evicted
        if occupied < capacity then
          occupied = occupied + 1
          id = admit(k, key)
        elseif drop_oldest then
          id, evicted = displace(k, key)
        end
        if id then
          answer(k, evicted and 1 or 0, id, evicted or 0)
          if owner then
            call('HDEL', OWNED, owner)
          end
        else
          answer(k, 4, 0, 0)
        end
      end
    end
    flush()
    finish_options()
    if ready > 0 and not notified then
      wake_up(ARRIVALS, ready)
    end
    -- A producer that was woken up for room, and leaves some, wakes up the next. So does one whose messages were all
    -- duplicates (B4).
    if occupied < capacity then
      wake_up(ROOM, math.min(MANY, capacity - occupied), true)
    end
    return all_accepted and accepted or answers
  end

  if now < next_due then
    return offer()
  end
  --- @include "lib/reclaim"

  reclaim()
  return offer()
end

return slow_path()
