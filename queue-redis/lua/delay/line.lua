-- The line of a delay queue: LINE holds ids by due time, FRAMES their frames. What is due is
-- ready; its `since` is the due time, so the frame's is not kept up.
-- needs: LINE, end_ties, read_frames
-- gives: gone, pick, any_ahead
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
