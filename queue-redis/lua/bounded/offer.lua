-- offer: puts messages at the tail as far as there is room.
-- ARGV[3] how many messages
-- ARGV[4] 1 to drop the oldest for want of room, 0 to refuse
-- ARGV[5] how many have a distinct key
-- ARGV[6 …] payloads, then pairs of entry's number and distinct key, then what else the push says of
-- entries, see `terms`
-- Returns the last id if all were accepted and nothing else happened, and they have consecutive
-- ids; or an array of three numbers each: what happened (0 accepted, 1 accepted and another
-- evicted, 2 replaced another, 3 duplicate, 4 full), id, the other's id. OOM: nothing was written.
-- needs: ARRIVALS, DEDUP, DELAYED, DISTINCT, FRAME, LEASES, LINE, META, OWNED, READY, ROOM, accepted, add_to, arm
-- needs: delay_new, disown, drop, duplicate_of, end_ties, finish_terms, first_ids, flags, forget, hand_over, holes
-- needs: leave, limited, line_new, mark, pick, place_of, quiet_until, read_terms, shorten, tidy, times_to_live
-- needs: uniques, unreadable, uploads, write_marks
-- gives: meta
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet')
--- @include "lib/config#state"
--- @include "lib/frames"
--- @include "lib/wake_up#hand_over"
-- offer, as it mostly is: there is nothing to tidy, no message says more than its payload, and there is room
-- for all. Each function that follows costs an offer as much as a command; this is before them all.
-- ARGV and what it returns: as for `offer`
if now < quiet_until and not DEDUP and #ARGV == 5 + ARGV[3] and not string.find(flags, 'o', 1, true) then
  local count, fixed = tonumber(ARGV[3]), call('HMGET', META, 'capacity', 'surplus', 'uncounted')
  local occupied = call('LLEN', READY) + call('ZCARD', LINE) + call('ZCARD', LEASES) + call('ZCARD', DELAYED)
  occupied = occupied + (tonumber(fixed[3]) or 0)
  local room = (tonumber(fixed[1]) or 0) - occupied - count
  if room >= 0 and (fixed[2] or '0') == '0' then
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
      arm(ARRIVALS, count)
    end
    if room > 0 then
      arm(ROOM, math.min(MANY, room), true)
    end
    return accepted + count
  end
end
local function slow_path()
  --- @include "{kind}/queue#line"
  --- @include "lib/line#place_of"
  --- @include "lib/push_options#delayed"
  --- @include "lib/push_options#lined"
  --- @include "bounded/capacity#shorten"
  --- @include "bounded/capacity#unreadable"
  local function act()
    local count, drop_oldest, keyed = tonumber(ARGV[3]), ARGV[4] == '1', tonumber(ARGV[5])
    local fixed = call('HMGET', META, 'capacity', 'surplus', 'uncounted')
    local capacity, surplus = tonumber(fixed[1]), tonumber(fixed[2]) or 0
    if not (capacity and capacity >= 1) then
      return unreadable(fixed[1])
    end
    local leased = call('ZCARD', LEASES) + (tonumber(fixed[3]) or 0)
    local occupied = call('LLEN', READY) - holes + call('ZCARD', LINE) + leased + call('ZCARD', DELAYED)
    if surplus > 0 then
      local _, removed = shorten(occupied)
      occupied = occupied - removed
    end
    local ready = 0 -- how many of them are, so far
    local keys = {}
    for k = 6 + count, 5 + count + 2 * keyed, 2 do
      keys[tonumber(ARGV[k])] = ARGV[k + 1]
    end
    local due_times = read_terms(6 + count + 2 * keyed)
    local alone = count == 1 and now < quiet_until and not (due_times and uploads[1])
    -- A message of this very batch may be taken away again, and what is to end with it ends.
    limited, uniques = limited or DEDUP, uniques or DEDUP

    -- Messages without a key are written together; one that comes alone may be handed over.
    local pending, told = {}, false
    local function flush()
      if pending[1] then
        call('HSET', META, 'accepted', accepted)
        told = alone
        if not (told and hand_over(accepted, pending[1], READY)) then
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
        delay_new({ { id = accepted, due = due, payload = ARGV[5 + entry] } })
      elseif key or due_times and times_to_live[entry] then
        call('HSET', META, 'accepted', accepted)
        line_new(accepted, ARGV[5 + entry])
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

    -- The marks of these keys have ended: they make no duplicate of a later entry.
    local function unmark(ended)
      for k = 1, first_ids and #ended or 0 do
        first_ids[ended[k]] = nil
      end
    end

    -- Admits this entry instead of the next message in delivery order.
    local function displace(entry, key)
      flush()
      local picked = pick(1)
      if picked.damaged[1] then
        drop(picked)
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
      unmark(disown({ victim }))
      forget({ victim })
      if delayed then
        call('ZREM', DELAYED, victim)
      else
        drop(picked)
      end
      return id, (decode('>I7', victim))
    end

    local answers, plain = {}, true
    local function answer(entry, what, id, other)
      plain = plain and what == 0
      answers[3 * entry - 2], answers[3 * entry - 1], answers[3 * entry] = what, id, other
    end

    for k = 1, count do
      local key, first = keys[k], duplicate_of(k)
      local owner = key and not first and call('HGET', DISTINCT, key)
      local place, member
      -- Whose key this is not replaces nobody.
      if owner and call('HGET', OWNED, owner) == key then
        place, member = place_of(owner)
      end
      if first then
        answer(k, 3, first, 0)
      elseif place then
        answer(k, 2, admit(k, key), (decode('>I7', owner)))
        add_to('replaced', 1)
        write_marks()
        unmark(end_ties({ owner }))
        call('HDEL', OWNED, owner)
        forget({ owner })
        leave(place, member)
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
    finish_terms()
    if ready > 0 and not told then
      arm(ARRIVALS, ready)
    end
    -- A producer that was told of room and leaves some tells the next, also if all it had were
    -- duplicates (B4).
    if occupied < capacity then
      arm(ROOM, math.min(MANY, capacity - occupied), true)
    end
    return plain and accepted or answers
  end

  if now < quiet_until then
    return act()
  end
  --- @include "lib/reclaim"
  tidy()
  return act()
end
return slow_path()
