-- Taking out messages that nobody is to get.
-- needs: BYTES, DELAYED, add_to, drop, pick
-- gives: take_out

-- Takes so many undelivered messages out of their places, as many as one call may: ready ones in delivery
-- order, then delayed ones, by (due, id). Counts them under that name. Answers their ids, and how many left
-- their places: what is damaged does, too.
local function take_out(wanted, counter)
  BYTES = math.huge -- it hands nothing out
  wanted = math.min(wanted, MANY)
  local picked = pick(wanted)
  local ids = picked.ids
  local left, aside = wanted - #ids - #picked.damaged, #picked.damaged
  if ids[1] then
    -- The first write wants memory: on a full server an offer fails here, with nothing changed.
    add_to(counter, #ids)
  end
  drop(picked)
  local delayed = left > 0 and call('ZRANGE', DELAYED, 0, left - 1) or {}
  if delayed[1] then
    add_to(counter, #delayed)
    call('ZREM', DELAYED, unpack(delayed))
  end
  for k = 1, #delayed do
    ids[#ids + 1] = delayed[k]
  end
  return ids, #ids + aside
end
