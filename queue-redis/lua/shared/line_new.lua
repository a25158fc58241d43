-- Messages that are pushed to the tail, and whose place is not in READY, so that they can be taken out of
-- it in O(log n): those with a distinct key (B7) or a time to live (L17).
-- needs: FRAME, FRAMES, LINE, add_to
-- gives: line_new

-- Puts this message at the tail of those that were accepted before.
local function line_new(id, payload)
  local member = pack('>I7', id)
  local before = pack('>I7', add_to('joins', 1))
  call('HSET', FRAMES, member, pack(FRAME, 0, id, now) .. payload, 'p' .. member, before)
  call('ZADD', LINE, id, before .. member)
end
