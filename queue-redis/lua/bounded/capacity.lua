-- The capacity.
--- @include "lib/call"
--- @include "{kind}/queue"

--- @part "unreadable"
-- What a call answers to a capacity that somebody damaged.
-- needs: META
-- gives: unreadable
local function unreadable(capacity)
  local found = string.gsub(sub(capacity or '', 1, 200), '[^%w%p ]', '?') -- an error is text, in one line
  return redis.error_reply('QKDAMAGED the field capacity of ' .. META .. ' is [' .. found
    .. '], which queue-kit did not write')
end

--- @part "shorten"
-- needs: META, disown, forget, take_out
-- gives: shorten
--- @include "lib/line#take_out"
-- Trimming a bounded queue to its capacity, by steps, so that no call takes long (B5). META keeps, as `surplus`,
-- how many messages the last resize has still to drop.

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

--- @part "capacity"
-- capacity: how many messages fit.
-- Returns the stored capacity.
-- needs: META, unreadable
-- gives: meta
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet')
--- @include "lib/config"
--- @include "bounded/capacity#unreadable"
local capacity = call('HGET', META, 'capacity')
return tonumber(capacity) or unreadable(capacity)

--- @part "resize"
-- resize: changes how many fit; from then on the stored capacity wins, and the queue does not grow beyond it.
-- What is too many goes by steps (B5).
-- ARGV[3] capacity; '' for another step of the last resize, whoever made it
-- ARGV[4] for a reconfigure: the configuration to store with it. A capacity that is stored already stays as it is.
-- For an open '', see `bounded/same`
-- Returns the ids that this step dropped: in delivery order, delayed ones last, never what is leased. As many as
-- one call may means that there may be more. For a reconfigure, how many dead letters are left to trim comes first.
-- How a resize begins that belongs to an open: with the capacity that is stored it changes nothing, needs no
-- write, and tidies nothing.
-- ARGV[3] capacity
-- ARGV[4] '' for an open
-- needs: ARRIVALS, DELAYED, LEASES, META, ROOM, arm, config, in_line, shorten, tidy, trim
-- gives: meta
if ARGV[4] == '' and tonumber(call('HGET', META, 'capacity')) == tonumber(ARGV[3]) then
  return {}
end
call('ZREM', ARRIVALS, '')
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet', 'token', 'acked')
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  --- @include "bounded/capacity#shorten"
  --- @include "{kind}/queue#counts"
  local capacity = tonumber(ARGV[3])
  if capacity then
    tidy()
  end
  local left = nil
  if ARGV[4] and ARGV[4] ~= '' then
    config = ARGV[4] .. (string.match(config, ' unlisted=%x+$') or '') -- the mark stays, see `config`
    call('HSET', META, 'config', config)
    left = trim()
    if tonumber(call('HGET', META, 'capacity')) == capacity then
      return { left }
    end
  end
  local uncounted = tonumber(call('HGET', META, 'uncounted')) or 0 -- leased messages, see `runs`
  local occupied = in_line() + call('ZCARD', LEASES) + uncounted + call('ZCARD', DELAYED)
  if capacity then
    call('HSET', META, 'capacity', capacity, 'resized', 1, 'surplus', math.max(occupied - capacity, 0))
    if occupied < capacity then
      arm(ROOM, math.min(MANY, capacity - occupied))
    end
  end
  local dropped = shorten(occupied)
  if left then
    table.insert(dropped, 1, left)
  end
  return dropped
end
return slow_path()
