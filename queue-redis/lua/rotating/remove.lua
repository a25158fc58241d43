-- remove: takes items out for good (T2).
-- needs: ARRIVALS, BODIES, DUE, FRESH, KEYED, NAMED, RING, pace
-- ARGV[3 …] ids
-- Returns how many were there.
call('ZREM', ARRIVALS, '') -- as in `drainable`
local removed = 0
for k = 3, #ARGV do
  local id = ARGV[k]
  local there = call('ZREM', RING, id)
  if pace then
    there = there + call('ZREM', FRESH, id)
    call('ZREM', DUE, id)
  end
  if there > 0 then
    removed = removed + 1
    local key = call('HGET', NAMED, id)
    if key then
      call('HDEL', KEYED, key)
      call('HDEL', NAMED, id)
    end
    call('HDEL', BODIES, id)
  end
end
return removed
