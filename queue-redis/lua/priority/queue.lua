-- A priority queue: its keys, and the parts that leasing verbs include as `{kind}/queue#…`.
-- KEYS[1] to KEYS[8] as below; KEYS[9] is the guard; KEYS[10 …] only in calls that need them
-- src/keys.rs describes each key.
-- gives: ARRIVALS, BATCH_LEASES, BODIES, DEAD, DEDUP, DELAYED, DISTINCT, ENDS, EXTRA_HEAD, FIRSTS, FRAMES, LEASES
-- gives: LINE, META, OWNED, PROMOTED, UPLOADS
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, BATCH_LEASES = unpack(KEYS)
local DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 10)
local DISTINCT, OWNED = nil, nil -- distinct keys are in FRAMES: see `lib/attachments`
local EXTRA_HEAD = 9 -- bytes that a frame's head has beyond 15
local PROMOTED = DELAYED -- the key that `promote_due` reads

--- @part "results"
-- The keys of results, in calls that store or find them.
-- gives: END_MARKERS, RESULTS, RESULT_ENDS
local RESULTS, RESULT_ENDS = unpack(KEYS, 15, 16)
local END_MARKERS = 16 -- the keys behind this one

--- @part "fast_lease"
-- The next messages of a priority queue, on the fast path.
-- needs: LINE, fast, wants
-- gives: next_list, next_places
local next_list, next_places = nil, {}
if fast and wants > 0 then
  next_places = call('ZRANGE', LINE, '0', wants == 1 and '0' or wants - 1)
end

--- @include "lib/sorted_line#fast_lease"

--- @part "fast_settle_and_lease"
-- Its messages have no groups: see `grouped/queue`.

--- @part "groups"
-- Its messages have no groups: see `grouped/queue`.
-- gives: count_groups, end_places, frees_at, hold, keep_place, park, plain_members, plain_place, regroup_members
local count_groups, end_places, frees_at, hold = nil, nil, nil, nil
local keep_place, park, plain_members, plain_place, regroup_members = nil, nil, nil, nil, nil

--- @part "change_rates"
-- gives: change_rates
local change_rates = nil

--- @part "line"
-- The line of a priority queue. LINE has the ready messages, FRAMES their frames. Without ageing a priority has two
-- lines, and the score tells which. A line's order is by member:
-- - score -2p - 1, member id                 came back by release or expiry: first, by id (L11)
-- - score -2p, member id                     pushed
-- - score -2p, member last + number + id     joined the tail when `last` was the last id: after it, by number
--
-- With ageing the score is arrival - p * ageing, and the member is the id (P4).
-- needs: DELAYED, LINE, end_attachments, read_frames
-- gives: any_left, free, pick
--- @include "lib/attachments"
--- @include "lib/sorted_line#frames"
local free = end_attachments

-- The next up to `max` messages in delivery order, as many as fit into one reply; moves nothing.
local function pick(max)
  return read_frames(call('ZRANGE', LINE, '0', max == 1 and '0' or max - 1))
end

-- Whether messages are ready, or will be.
local function any_left()
  return call('EXISTS', LINE, DELAYED) > 0
end

--- @part "moves"
-- Moves messages into the line of a priority queue.
-- needs: ARRIVALS, DELAYED, FRAME, FRAMES, LINE, accepted, add_dead_letter, add_to, ageing, free, is_valid, wake_up
-- gives: give_back, join_tail, promote_due
--- @include "lib/wake_up"
--- @include "lib/writes#add_to"
--- @include "priority/queue#settings"

-- The priority of a message.
local function urgency_of(frame)
  local _, _, _, biased = decode(FRAME, frame)
  return biased - 32768
end

-- The score of a message with ageing (P4).
local function aged_score(frame)
  local _, _, _, _, arrival = decode(FRAME, frame)
  return arrival - urgency_of(frame) * ageing
end

-- Adds the score and the member of a returned message to `back`.
local function give_back(back, id, frame)
  back[#back + 1] = ageing and aged_score(frame) or -2 * urgency_of(frame) - 1
  back[#back + 1] = id
end

-- Puts messages at the tails of their priorities, in this order.
local function join_tail(ids, frames)
  local number = add_to('joins', #ids) - #ids
  local last = pack('>I7', accepted)
  local places, kept = {}, {}
  for k = 1, #ids do
    local before = ageing and '' or last .. pack('>I7', number + k)
    places[2 * k - 1] = ageing and aged_score(frames[k]) or -2 * urgency_of(frames[k])
    places[2 * k] = before .. ids[k]
    kept[2 * k - 1], kept[2 * k] = 'p' .. ids[k], before
  end
  if not ageing then
    call('HSET', FRAMES, unpack(kept))
  end
  call('ZADD', LINE, unpack(places))
  wake_up(ARRIVALS, #ids)
end

-- Moves due messages to the tails of their priorities.
local function promote_due()
  local due = call('ZRANGEBYSCORE', DELAYED, '-inf', now_text, 'LIMIT', 0, MANY)
  for first = 1, #due, CHUNK do
    local ids, frames = {}, {}
    local chunk = { unpack(due, first, math.min(first + CHUNK - 1, #due)) }
    local read = call('HMGET', FRAMES, unpack(chunk))
    for k = 1, #chunk do
      if read[k] and is_valid(read[k], chunk[k]) then
        ids[#ids + 1], frames[#frames + 1] = chunk[k], read[k]
      elseif #chunk[k] == 7 then
        add_dead_letter(chunk[k], read[k] or '', 'd', '')
        free({ chunk[k] })
      end
    end
    if ids[1] then
      join_tail(ids, frames)
    end
  end
  if due[1] then
    call('ZREM', DELAYED, unpack(due))
  end
end

--- @part "settings"
-- needs: config
-- gives: ageing
local ageing = tonumber(string.match(config, 'ageing=(%d+)')) -- ms that weigh as much as one priority (P4)

--- @part "counts"
-- Counts the line of a priority queue.
-- needs: FRAMES, HEAD, LINE, SINCE, ageing
-- gives: count_ready, oldest_since
--- @include "priority/queue#settings"

-- The number of ready messages.
local function count_ready()
  return call('ZCARD', LINE)
end

-- The longest time since which the head of a line has been ready; nil if none is. Of more than 1,000 lines, this
-- reads the most urgent ones.
local function oldest_since()
  local since
  local head = call('ZRANGE', LINE, 0, 0, 'WITHSCORES')
  for _ = 1, ageing and 1 or 1000 do
    if not head[1] then
      break
    end
    local frame = call('HGET', FRAMES, sub(head[1], -7))
    if frame and #frame > HEAD then
      local ready = decode('>I7', frame, SINCE)
      since = since and math.min(since, ready) or ready
    end
    head = call('ZRANGEBYSCORE', LINE, '(' .. head[2], '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  end
  return since
end

--- @part "lookup"
--- @include "lib/sorted_line#lookup"
