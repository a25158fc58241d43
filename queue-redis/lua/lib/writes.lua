-- Small writes that several scripts share.

--- @part "add_many"
-- ZADD. A zset of up to 128 members is searched one by one, for each of a batch anew, and 100 cost
-- four times as much. A member that is too long for a small zset (`zset-max-listpack-value`) has it
-- searched as a larger one is, until it is empty.
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

--- @part "expect"
-- Noting when something is to be done (see `quiet`).
-- needs: META, quiet_until
-- gives: expect

-- At this time something is to be reclaimed, promoted or ended.
local function expect(time)
  if time < quiet_until then
    quiet_until = time
    call('HSET', META, 'quiet', string.format('%d', time))
  end
end

--- @part "add_to"
-- Counting in META.
-- needs: META
-- gives: add_to

-- Adds to a number in META, and answers it. One that is none any more begins anew.
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
