-- remove: takes items out for good (T2).
-- needs: ARRIVALS, BODIES, DUE, FRESH, KEYED, NAMED, RING, pace, reference_of
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
    local body = reference_of and call('HGET', BODIES, id)
    local reference = body and reference_of(body)
    if reference then
      call('HDEL', BODIES, reference)
    end
    call('HDEL', BODIES, id)
  end
end
return removed
