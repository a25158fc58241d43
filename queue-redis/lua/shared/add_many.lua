-- Longer than a member of a small zset may be (`zset-max-listpack-value`).
local LONG = '-----------------------------------------------------------------'

-- ZADD. A zset of up to 128 members is searched one by one, for each of a batch anew, and 100 cost
-- four times as much. A long member has it searched as a larger one is, until it is empty.
local function add_many(key, places)
  if #places < 32 then
    call('ZADD', key, unpack(places))
  else
    call('ZADD', key, '0', LONG, unpack(places))
    call('ZREM', key, LONG)
  end
end
