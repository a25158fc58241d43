-- Members of LINE that are longer than an id end in it. What stands before the id is kept in FRAMES, too,
-- under 'p' and the id, so that such a message is found by its id.
-- needs: FRAMES, LINE
-- gives: leave_line

-- Takes these members out of LINE.
local function leave_line(members)
  local kept = {}
  for k = 1, #members do
    if #members[k] > 7 then
      kept[#kept + 1] = 'p' .. sub(members[k], -7)
    end
  end
  call('ZREM', LINE, unpack(members))
  if kept[1] then
    call('HDEL', FRAMES, unpack(kept))
  end
end
