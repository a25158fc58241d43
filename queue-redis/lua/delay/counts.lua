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
