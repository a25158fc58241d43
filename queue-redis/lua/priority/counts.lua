-- What is counted of the line of a priority queue.
-- needs: FRAMES, HEAD, LINE, SINCE, ageing
-- gives: in_line, oldest_since

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
