-- Delay queues: what is ready and what is delayed share one line, by due time. DEDUP and what follows it
-- are there only in calls that need them. KEYS[8] is the guard.
-- gives: ADDS, ARRIVALS, BODIES, DEAD, DEDUP, DELAYED, ENDS, FIRSTS, FRAMES, LEASES, LINE, META, PROMOTED, RUNS
-- gives: UPLOADS
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, RUNS, _, DEDUP, FIRSTS, ENDS, BODIES, UPLOADS =
  unpack(KEYS)
local DELAYED = LINE
local ADDS = 0 -- bytes to the head of a frame
local PROMOTED = nil -- what is due is in its place already

--- @part "fast_lease"
-- Where the next messages of a delay queue are, for a usual turn.
-- needs: LINE, usual, wants
-- gives: next_list, next_places
local next_list, next_places = nil, {}
if usual and wants > 0 then
  next_places = call('ZRANGEBYSCORE', LINE, '-inf', now_text, 'LIMIT', '0', wants == 1 and '1' or wants)
end
--- @include "lib/sorted_line#fast_lease"

--- @part "line"
-- needs: LINE, end_ties, read_frames
-- gives: any_ahead, gone, pick
--- @include "lib/attachments"
--- @include "lib/sorted_line#frames"
-- The line of a delay queue: LINE holds ids by due time, FRAMES their frames. What is due is
-- ready; its `since` is the due time, so the frame's is not kept up.
local gone = end_ties

-- The next up to `max` due messages, as many as one call may hand out; moves nothing.
local function pick(max)
  local due = call('ZRANGEBYSCORE', LINE, '-inf', now_text, 'LIMIT', '0', max)
  return read_frames(due)
end

-- Whether anything is due, or will be.
local function any_ahead()
  return call('EXISTS', LINE) > 0
end

--- @part "moves"
-- needs: ARRIVALS, LINE, arm
-- gives: give_back, join, promote
--- @include "lib/wake_up"
-- What moves messages into the line of a delay queue.

-- Due at its deadline or its release (D2).
local function give_back(back, id, _, at)
  back[#back + 1] = at
  back[#back + 1] = id
end

local function join(ids)
  local places = {}
  for k = 1, #ids do
    places[2 * k - 1] = now
    places[2 * k] = ids[k]
  end
  call('ZADD', LINE, unpack(places))
  arm(ARRIVALS, #ids)
end

-- What is due is in its place already.
local function promote() end

--- @part "counts"
-- What is counted of the line of a delay queue.
-- needs: LINE
-- gives: in_line, oldest_since

-- None that is not counted by its due time.
local function in_line()
  return 0
end

local function oldest_since()
  local head = call('ZRANGE', LINE, 0, 0, 'WITHSCORES')
  local due = tonumber(head[2])
  if due and due <= now then
    return due
  end
end

--- @part "lookup"
--- @include "lib/sorted_line#lookup"
