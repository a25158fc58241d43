-- Trimming a bounded queue to its capacity, by steps, so that no call takes long (B5). META keeps, as `surplus`,
-- how many messages the last resize has still to drop.
-- needs: META, disown, forget, take_out
-- gives: shorten

-- Takes a step, if the queue, which holds so many messages, is still too long. Answers what it dropped, and how
-- many left their places.
local function shorten(occupied)
  local fixed = call('HMGET', META, 'capacity', 'surplus')
  local surplus = math.min(tonumber(fixed[2]) or 0, occupied - tonumber(fixed[1]))
  local ids, removed, numbers = {}, 0, {}
  if surplus > 0 then
    ids, removed = take_out(surplus, 'evicted')
  end
  if fixed[2] then
    call('HSET', META, 'surplus', removed == MANY and surplus - MANY or 0)
  end
  if ids[1] then
    disown(ids)
    forget(ids)
  end
  for k = 1, #ids do
    numbers[k] = (decode('>I7', ids[k]))
  end
  return numbers, removed
end
