-- Writes that several scripts share.

--- @part "add_many"
-- Adds many members to a sorted set. Redis searches a set of up to 128 members from its beginning for each new
-- member: adding 100 costs four times as much. The long member turns the set into a skip list, because it exceeds
-- `zset-max-listpack-value`. The set stays one until it is empty.
-- gives: add_many
local function add_many(key, places)
  if #places < 32 then
    call('ZADD', key, unpack(places))
  else
    local long = '-----------------------------------------------------------------'
    call('ZADD', key, '0', long, unpack(places))
    call('ZREM', key, long)
  end
end

--- @part "lower_next_due"
-- Lowers `next_due` (see `lib/config#state`).
-- needs: META, next_due
-- gives: lower_next_due

-- Notes that a message is to be reclaimed, promoted or ended at `time`.
local function lower_next_due(time)
  if time < next_due then
    next_due = time
    call('HSET', META, 'next_due', string.format('%d', time))
  end
end

--- @part "add_to"
-- Counters in META.
-- needs: META
-- gives: add_to

-- Adds to a counter, and returns the sum. A damaged counter starts again.
local function add_to(field, by)
  local counted = redis.pcall('HINCRBY', META, field, by)
  if type(counted) ~= 'table' then
    return counted
  elseif string.find(counted.err, 'not an integer', 1, true) or string.find(counted.err, 'overflow', 1, true) then
    call('HSET', META, field, by)
    return by
  end
  return call('HINCRBY', META, field, by)
end

--- @part "clear_marks"
-- Dedup marks past their window (L9).
-- needs: DEDUP, FIRSTS
-- gives: clear_marks

-- Removes dedup marks past their window, up to 128.
local function clear_marks()
  local ended = call('ZRANGEBYSCORE', DEDUP, '-inf', now_text, 'LIMIT', '0', MANY)
  if ended[1] then
    call('HDEL', FIRSTS, unpack(ended))
    call('ZREM', DEDUP, unpack(ended))
  end
end
