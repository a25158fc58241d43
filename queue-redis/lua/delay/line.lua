-- The line of a delay queue: LINE holds ids by due time, FRAMES their frames. What is due is
-- ready; its `since` is the due time, so the frame's is not kept up.
local function gone() end

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
  call('ZADD', ARRIVALS, 0, 'armed')
end

-- What is due is in its place already.
local function promote()
  return false
end

-- The next up to `max` due messages, as many as one call may hand out; moves nothing.
local function pick(max)
  local due = call('ZRANGEBYSCORE', LINE, '-inf', now, 'LIMIT', 0, max)
  return read_frames(due)
end

local function any_ready()
  return call('ZRANGEBYSCORE', LINE, '-inf', now, 'LIMIT', 0, 1)[1] ~= nil
end

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

-- A frame adds nothing.
local function rearrived() end
