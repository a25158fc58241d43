-- A member of LINE that is longer than an id ends in the id. FRAMES has the rest of the member in the field 'p' and
-- id, so the place is found by the id. On a grouped queue, `plain_place` gives the length of the others.
-- needs: FRAMES, LINE, plain_place, regroup_members
-- gives: remove_from_line
--- @include "{kind}/queue#groups"

-- Removes members from LINE.
local function remove_from_line(members)
  local kept = {}
  for k = 1, #members do
    if #members[k] > (plain_place and plain_place(members[k]) or 7) then
      kept[#kept + 1] = 'p' .. sub(members[k], -7)
    end
  end
  call('ZREM', LINE, unpack(members))
  if kept[1] then
    call('HDEL', FRAMES, unpack(kept))
  end
  if regroup_members then
    regroup_members(members)
  end
end

--- @part "place_of"
-- The place of an undelivered message that is not in READY.
-- needs: ARRIVALS, DELAYED, FRAMES, LINE, end_places, plain_members, remove_from_line, wake_up
-- gives: place_of, remove_place, remove_delayed

-- The key and the member of a message's place; nil if it has none.
local function place_of(id)
  local before = call('HGET', FRAMES, 'p' .. id)
  if before and call('ZSCORE', LINE, before .. id) then
    return LINE, before .. id
  end
  for _, member in ipairs(plain_members and plain_members(id) or { id }) do
    if call('ZSCORE', LINE, member) then
      return LINE, member
    end
  end
  if call('ZSCORE', DELAYED, id) then
    return DELAYED, id
  end
end

-- Removes delayed messages. If any held the place of its group, that may run now (G6).
local function remove_delayed(ids)
  call('ZREM', DELAYED, unpack(ids))
  local came = end_places and end_places(ids) or 0
  if came > 0 then
    wake_up(ARRIVALS, came)
  end
end

-- Removes a place that `place_of` found.
local function remove_place(key, member)
  if key == LINE then
    remove_from_line({ member })
  else
    remove_delayed({ member })
  end
end

--- @part "show"
-- Pages of messages in a sorted set.
-- needs: DELAYED, FRAMES, LINE, is_valid
-- gives: delayed_from, show
--- @include "lib/frames#valid"

-- The rank in DELAYED of the first message that is not due: ready and delayed messages of a delay queue share a set.
local function delayed_from()
  return DELAYED == LINE and call('ZCOUNT', LINE, '-inf', now_text) or 0
end

-- Passes the messages of a sorted set to `take`, with their scores, from `rank` to before `before` (nil for the end).
-- Stops if `take` returns false. Returns 0 and the rank of that message; nil at the end.
local function show(key, rank, before, take)
  while rank < (before or math.huge) do
    local till = math.min(rank + CHUNK, before or math.huge) - 1
    local members = call('ZRANGE', key, rank, till, 'WITHSCORES')
    if not members[1] then
      return nil
    end
    local ids = {}
    for k = 1, #members, 2 do
      ids[#ids + 1] = sub(members[k], -7)
    end
    local frames = call('HMGET', FRAMES, unpack(ids))
    for k = 1, #ids do
      -- Damaged messages are skipped.
      if frames[k] and is_valid(frames[k], ids[k]) and not take(frames[k], members[2 * k]) then
        return 0, rank
      end
      rank = rank + 1
    end
  end
end

--- @part "take_out"
-- Removes messages without delivering them.
-- needs: BYTES, DELAYED, add_to, pick, remove_delayed, remove_picked
-- gives: take_out
--- @include "{kind}/queue#line"
--- @include "lib/line#place_of"

-- Removes up to `wanted` undelivered messages from their places, 128 at most: ready ones in delivery order, then
-- delayed ones by (due, id). Adds their number to `counter`. Returns their ids, and the number of places that are
-- free now, also of damaged messages.
local function take_out(wanted, counter)
  BYTES = math.huge -- because it returns no bodies
  wanted = math.min(wanted, MANY)
  local picked = pick(wanted, true)
  local ids = picked.ids
  local left, aside = wanted - #ids - #picked.damaged, #picked.damaged
  if ids[1] then
    -- The first write needs memory: on a full server an offer fails here, before anything changed.
    add_to(counter, #ids)
  end
  remove_picked(picked)
  local delayed = left > 0 and call('ZRANGE', DELAYED, 0, left - 1) or {}
  if delayed[1] then
    add_to(counter, #delayed)
    remove_delayed(delayed)
  end
  for k = 1, #delayed do
    ids[#ids + 1] = delayed[k]
  end
  return ids, #ids + aside
end
