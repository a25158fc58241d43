-- A delay queue: its keys, and the parts that leasing verbs include as `{kind}/queue#…`. Ready and delayed messages
-- share one line, by due time.
-- KEYS[1] to KEYS[7] as below; KEYS[8] is the guard; KEYS[9 …] only in calls that need them
-- src/keys.rs describes each key.
-- gives: ARRIVALS, BATCH_LEASES, BODIES, DEAD, DEDUP, DELAYED, DISTINCT, ENDS, EXTRA_HEAD, FIRSTS, FRAMES, LEASES
-- gives: LINE, META, OWNED, PROMOTED, UPLOADS
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, BATCH_LEASES, _, DEDUP, FIRSTS, ENDS, BODIES, UPLOADS =
  unpack(KEYS)
local DELAYED = LINE
local DISTINCT, OWNED = nil, nil -- distinct keys are in FRAMES: see `lib/attachments`
local EXTRA_HEAD = 0 -- bytes that a frame's head has beyond 15
local PROMOTED = nil -- nothing to promote: due messages are in their place already

--- @part "results"
-- The keys of results, in calls that store or find them.
-- gives: END_MARKERS, RESULTS, RESULT_ENDS
local RESULTS, RESULT_ENDS = unpack(KEYS, 14, 15)
local END_MARKERS = 15 -- the keys behind this one

--- @part "fast_lease"
-- The next messages of a delay queue, on the fast path.
-- needs: LINE, fast, wants
-- gives: next_list, next_places
local next_list, next_places = nil, {}
if fast and wants > 0 then
  next_places = call('ZRANGEBYSCORE', LINE, '-inf', now_text, 'LIMIT', '0', wants == 1 and '1' or wants)
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
-- The line of a delay queue. LINE has ids by due time, and FRAMES their frames. Due messages are ready since their
-- due time, so scripts do not update that time in the frame.
-- needs: LINE, end_attachments, read_frames
-- gives: any_left, free, pick
--- @include "lib/attachments"
--- @include "lib/sorted_line#frames"
local free = end_attachments

-- The next up to `max` due messages, as many as fit into one reply; moves nothing.
local function pick(max)
  local due = call('ZRANGEBYSCORE', LINE, '-inf', now_text, 'LIMIT', '0', max)
  return read_frames(due)
end

-- Whether messages are due, or will be.
local function any_left()
  return call('EXISTS', LINE) > 0
end

--- @part "moves"
-- Moves messages into the line of a delay queue.
-- needs: ARRIVALS, LINE, wake_up
-- gives: give_back, join_tail, promote_due
--- @include "lib/wake_up"

-- Adds the score and the member of a returned message to `back`: it is due at its deadline or its release (D2).
local function give_back(back, id, _, at)
  back[#back + 1] = at
  back[#back + 1] = id
end

-- Makes messages due now.
local function join_tail(ids)
  local places = {}
  for k = 1, #ids do
    places[2 * k - 1] = now
    places[2 * k] = ids[k]
  end
  call('ZADD', LINE, unpack(places))
  wake_up(ARRIVALS, #ids)
end

-- Due messages are in their place already.
local function promote_due() end

--- @part "counts"
-- Counts the line of a delay queue.
-- needs: LINE
-- gives: count_ready, oldest_since

-- No message: `counters` counts due messages by their due times.
local function count_ready()
  return 0
end

-- The due time of the first message if it has come; nil if not.
local function oldest_since()
  local head = call('ZRANGE', LINE, 0, 0, 'WITHSCORES')
  local due = tonumber(head[2])
  if due and due <= now then
    return due
  end
end

--- @part "lookup"
--- @include "lib/sorted_line#lookup"
