-- The line of a priority queue: LINE holds what is ready, FRAMES the frames. A frame adds, after
-- `since`, priority + 32768 (2 bytes) and arrival in ms (7 bytes).
-- Without ageing the score names one of the two lines of a priority, and its order is by member:
--   score -2p - 1, member id                 came back by release or expiry: first, by id (L11)
--   score -2p, member id                     pushed
--   score -2p, member last + number + id     joined the tail when `last` was the last id given:
--                                            after it, by number
-- With ageing the score is arrival - p * ageing, and the member is the id (P4).
local ageing = tonumber(string.match(ARGV[2], 'ageing=(%d+)'))

local function gone() end

local function urgency_of(frame)
  return decode('>I2', frame, 16) - 32768
end

local function aged_score(frame)
  return decode('>I7', frame, 18) - urgency_of(frame) * ageing
end

local function give_back(back, id, frame)
  back[#back + 1] = ageing and aged_score(frame) or -2 * urgency_of(frame) - 1
  back[#back + 1] = id
end

-- Puts these at the tail of their priorities, in this order.
local function join(ids, frames)
  local number = call('HINCRBY', META, 'joins', #ids) - #ids
  local last = pack('>I7', accepted)
  local places = {}
  for k = 1, #ids do
    places[2 * k - 1] = ageing and aged_score(frames[k]) or -2 * urgency_of(frames[k])
    places[2 * k] = ageing and ids[k] or last .. pack('>I7', number + k) .. ids[k]
  end
  call('ZADD', LINE, unpack(places))
  call('ZADD', ARRIVALS, 0, 'armed')
end

local function promote()
  local due = call('ZRANGEBYSCORE', DELAYED, '-inf', now, 'LIMIT', 0, MANY)
  for first = 1, #due, CHUNK do
    local ids, frames = {}, {}
    local chunk = { unpack(due, first, math.min(first + CHUNK - 1, #due)) }
    local read = call('HMGET', FRAMES, unpack(chunk))
    for k = 1, #chunk do
      if read[k] then
        ids[#ids + 1], frames[#frames + 1] = chunk[k], read[k]
      end
    end
    if ids[1] then
      join(ids, frames)
    end
  end
  if due[1] then
    call('ZREM', DELAYED, unpack(due))
  end
  return #due == MANY
end

-- The next up to `max` messages in delivery order, as many as one call may hand out; moves nothing.
local function pick(max)
  return read_frames(call('ZRANGE', LINE, 0, max - 1))
end

local function any_ready()
  return call('EXISTS', LINE) > 0
end

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
    if frame then
      local ready = decode('>I7', frame, 9)
      since = since and math.min(since, ready) or ready
    end
    head = call('ZRANGEBYSCORE', LINE, '(' .. head[2], '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  end
  return since
end

-- What a frame adds once its message has arrived anew (P4).
local function rearrived(frame, at)
  return sub(frame, 16, 17) .. pack('>I7', at)
end
