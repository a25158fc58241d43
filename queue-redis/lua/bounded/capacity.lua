-- The capacity of a bounded queue: `capacity` reads it, and `resize` changes it.
--- @include "lib/call"
--- @include "{kind}/queue"

--- @part "unreadable"
-- The reply if the stored capacity is damaged.
-- needs: META
-- gives: unreadable
local function unreadable(capacity)
  local found = string.gsub(sub(capacity or '', 1, 200), '[^%w%p ]', '?') -- errors are one line of text
  return redis.error_reply('QKDAMAGED the field capacity of ' .. META .. ' is [' .. found
    .. '], which queue-kit did not write')
end

--- @part "shorten"
-- Shortens a queue to its capacity in steps, so that no call takes long (B5). `surplus` in META is the number of
-- messages that the last resize still has to drop.
-- needs: META, end_attachments, forget, take_out
-- gives: shorten
--- @include "lib/line#take_out"

-- Drops up to 128 messages if the queue, which has `occupied` messages, is too long. Returns the numbers of the
-- dropped messages, and the number of places that are free now.
local function shorten(occupied)
  local stored = call('HMGET', META, 'capacity', 'surplus')
  local surplus = math.min(tonumber(stored[2]) or 0, occupied - tonumber(stored[1]))
  local ids, removed, numbers = {}, 0, {}
  if surplus > 0 then
    ids, removed = take_out(surplus, 'evicted')
  end
  if stored[2] then
    call('HSET', META, 'surplus', removed == MANY and surplus - MANY or 0)
  end
  if ids[1] then
    end_attachments(ids)
    forget(ids)
  end
  for k = 1, #ids do
    numbers[k] = (decode('>I7', ids[k]))
  end
  return numbers, removed
end

--- @part "capacity"
-- capacity: reads the capacity.
-- KEYS[…] the queue's keys, see `bounded/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- Returns the stored capacity.
-- Errors: QKDAMAGED  the capacity cannot be read.
-- needs: META, unreadable
-- gives: meta
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config"
--- @include "bounded/capacity#unreadable"
local capacity = call('HGET', META, 'capacity')
return tonumber(capacity) or unreadable(capacity)

--- @part "resize"
-- resize: changes the capacity. From then on the stored capacity holds, and the queue does not grow beyond it.
-- Messages above it are dropped in steps (B5).
-- KEYS[…] the queue's keys, see `bounded/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] capacity: in messages; '' for another step of the last resize, by any caller
-- ARGV[4] configuration: from a reconfigure, which keeps a stored capacity; '' from an open, which changes nothing if
--   the capacity is stored
-- Returns the ids that this step dropped, in delivery order, delayed ones last, never leased ones. If there are 128,
-- there may be more. To a reconfigure, the number of dead letters that are left to trim comes first.
-- needs: ARRIVALS, DELAYED, LEASES, META, ROOM, change_config, count_ready, reclaim, shorten, trim, wake_up
-- gives: meta
if ARGV[4] == '' and tonumber(call('HGET', META, 'capacity')) == tonumber(ARGV[3]) then
  return {}
end
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"

local function resize()
  --- @include "lib/reclaim"
  --- @include "lib/limits#change"
  --- @include "bounded/capacity#shorten"
  --- @include "{kind}/queue#counts"

  local capacity = tonumber(ARGV[3])
  if capacity then
    reclaim()
  end
  local left = nil
  if ARGV[4] and ARGV[4] ~= '' then
    change_config(ARGV[4])
    left = trim()
    if tonumber(call('HGET', META, 'capacity')) == capacity then
      return { left }
    end
  end
  local uncounted = tonumber(call('HGET', META, 'uncounted')) or 0 -- leased messages, see `lib/batch_leases`
  local occupied = count_ready() + call('ZCARD', LEASES) + uncounted + call('ZCARD', DELAYED)
  if capacity then
    call('HSET', META, 'capacity', capacity, 'resized', 1, 'surplus', math.max(occupied - capacity, 0))
    if occupied < capacity then
      wake_up(ROOM, math.min(MANY, capacity - occupied))
    end
  end
  local dropped = shorten(occupied)
  if left then
    table.insert(dropped, 1, left)
  end
  return dropped
end

return resize()
