-- What is counted of the line of a reliable or bounded queue.
-- needs: FRAMES, HEAD, ID, LINE, META, READY, SINCE, holes, parts
-- gives: in_line, oldest_since

-- How many are in line.
local function in_line()
  local listed = math.max(call('LLEN', READY) - holes, 0)
  if listed > 0 then
    listed = math.max(listed + (tonumber(call('HGET', META, 'packed')) or 0), 0)
  end
  return listed + call('ZCARD', LINE)
end

-- Since when the heads of the two lines have been ready, the longest of both; nil if none is.
local function oldest_since()
  local since
  local function older(frame)
    if frame and #frame > HEAD then
      local ready = decode('>I7', frame, SINCE)
      since = since and math.min(since, ready) or ready
    end
  end
  local back = call('ZRANGE', LINE, 0, 0, 'WITHSCORES')
  if back[1] and tonumber(back[2]) == -1 then
    older(call('HGET', FRAMES, back[1]))
  end
  local head = call('LINDEX', READY, 0)
  head = head and parts and (parts(head, call('LINDEX', READY, 1)) or { head })[1] or head
  local joined = call('ZRANGEBYSCORE', LINE, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if joined[1] and not (head and #head > HEAD and decode('>I7', head, ID) <= tonumber(joined[2])) then
    head = call('HGET', FRAMES, sub(joined[1], -7))
  end
  older(head)
  return since
end
