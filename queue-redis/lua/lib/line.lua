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

--- @part "place_of"
-- Finding an undelivered message by its id, unless it is in READY, and taking it out.
-- needs: DELAYED, FRAMES, LINE, leave_line
-- gives: leave, place_of

-- The key and the member by which it stands there; nothing if it does not.
local function place_of(id)
  local before = call('HGET', FRAMES, 'p' .. id)
  if before and call('ZSCORE', LINE, before .. id) then
    return LINE, before .. id
  elseif call('ZSCORE', LINE, id) then
    return LINE, id
  elseif call('ZSCORE', DELAYED, id) then
    return DELAYED, id
  end
end

-- Takes it out of where `place_of` found it.
local function leave(key, member)
  if key == LINE then
    leave_line({ member })
  else
    call('ZREM', key, member)
  end
end

--- @part "show"
-- needs: DELAYED, FRAMES, LINE, is_sound
-- gives: delayed_from, show
--- @include "lib/frames#valid"
-- Showing messages whose place is in a sorted set.

-- The first of DELAYED that is not ready, by rank: on a delay queue it is LINE.
local function delayed_from()
  return DELAYED == LINE and call('ZCOUNT', LINE, '-inf', now_text) or 0
end

-- Gives `take` the messages of this key from one rank to before another (nil for the end), with their
-- scores, until it has enough. Answers 0 and the rank where that was, nil at the end.
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
      -- What is damaged is not shown.
      if frames[k] and is_sound(frames[k], ids[k]) and not take(frames[k], members[2 * k]) then
        return 0, rank
      end
      rank = rank + 1
    end
  end
end

--- @part "take_out"
-- needs: BYTES, DELAYED, add_to, drop, pick
-- gives: take_out
--- @include "{kind}/queue#line"
-- Taking out messages that nobody is to get.

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
