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
