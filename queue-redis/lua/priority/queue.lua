-- Priority queues. DEDUP and what follows it are there only in calls that need them. KEYS[9] is the guard.
-- gives: ADDS, ARRIVALS, BODIES, DEAD, DEDUP, DELAYED, ENDS, FIRSTS, FRAMES, LEASES, LINE, META, PROMOTED, RUNS
-- gives: UPLOADS
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, RUNS = unpack(KEYS)
local DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 10)
local ADDS = 9 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through

--- @part "fast_lease"
-- Where the next messages are, for a usual turn, if all that is ready stands in LINE in delivery order.
-- needs: LINE, usual, wants
-- gives: next_list, next_places
local next_list, next_places = nil, {}
if usual and wants > 0 then
  next_places = call('ZRANGE', LINE, '0', wants == 1 and '0' or wants - 1)
end
--- @include "lib/sorted_line#fast_lease"

--- @part "line"
-- needs: DELAYED, LINE, end_ties, read_frames
-- gives: any_ahead, gone, pick
--- @include "lib/attachments"
--- @include "lib/sorted_line#frames"
-- The line of a priority queue: LINE holds what is ready, FRAMES the frames.
-- Without ageing the score names one of the two lines of a priority, and its order is by member:
--   score -2p - 1, member id                 came back by release or expiry: first, by id (L11)
--   score -2p, member id                     pushed
--   score -2p, member last + number + id     joined the tail when `last` was the last id given:
--                                            after it, by number
-- With ageing the score is arrival - p * ageing, and the member is the id (P4).
local gone = end_ties

-- The next up to `max` messages in delivery order, as many as one call may hand out; moves nothing.
local function pick(max)
  return read_frames(call('ZRANGE', LINE, '0', max == 1 and '0' or max - 1))
end

-- Whether anything is ready, or will be.
local function any_ahead()
  return call('EXISTS', LINE, DELAYED) > 0
end

--- @part "moves"
-- needs: ARRIVALS, DELAYED, FRAME, FRAMES, LINE, accepted, add_to, ageing, arm, die, gone, is_sound
-- gives: give_back, join, promote
--- @include "lib/wake_up"
--- @include "lib/writes#add_to"
--- @include "{kind}/queue#settings"
-- What moves messages into the line of a priority queue.

local function urgency_of(frame)
  local _, _, _, biased = decode(FRAME, frame)
  return biased - 32768
end

local function aged_score(frame)
  local _, _, _, _, arrival = decode(FRAME, frame)
  return arrival - urgency_of(frame) * ageing
end

local function give_back(back, id, frame)
  back[#back + 1] = ageing and aged_score(frame) or -2 * urgency_of(frame) - 1
  back[#back + 1] = id
end

-- Puts these at the tail of their priorities, in this order.
local function join(ids, frames)
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
  arm(ARRIVALS, #ids)
end

local function promote()
  local due = call('ZRANGEBYSCORE', DELAYED, '-inf', now_text, 'LIMIT', 0, MANY)
  for first = 1, #due, CHUNK do
    local ids, frames = {}, {}
    local chunk = { unpack(due, first, math.min(first + CHUNK - 1, #due)) }
    local read = call('HMGET', FRAMES, unpack(chunk))
    for k = 1, #chunk do
      if read[k] and is_sound(read[k], chunk[k]) then
        ids[#ids + 1], frames[#frames + 1] = chunk[k], read[k]
      elseif #chunk[k] == 7 then
        die(chunk[k], read[k] or '', 'd', '')
        gone({ chunk[k] })
      end
    end
    if ids[1] then
      join(ids, frames)
    end
  end
  if due[1] then
    call('ZREM', DELAYED, unpack(due))
  end
end

--- @part "settings"
-- needs: config
-- gives: ageing
local ageing = tonumber(string.match(config, 'ageing=(%d+)')) -- ms that weigh as much as a step (P4)

--- @part "counts"
-- needs: FRAMES, HEAD, LINE, SINCE, ageing
-- gives: in_line, oldest_since
--- @include "{kind}/queue#settings"
-- What is counted of the line of a priority queue.

local function in_line()
  return call('ZCARD', LINE)
end

-- Since when the heads of the lines have been ready, the longest of all; nil if none is. Of more
-- than 1,000 lines it reads the most urgent ones.
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
