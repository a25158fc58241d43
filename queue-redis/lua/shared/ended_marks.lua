-- Dedup marks whose window is over (L9).
-- needs: DEDUP, FIRSTS
-- gives: clear_marks

-- Clears away dedup marks whose window is over, as many as one call may.
local function clear_marks()
  local over = call('ZRANGEBYSCORE', DEDUP, '-inf', now_text, 'LIMIT', '0', MANY)
  if over[1] then
    call('HDEL', FIRSTS, unpack(over))
    call('ZREM', DEDUP, unpack(over))
  end
end
