-- Takes due messages, and deletes them.
-- KEYS: line, bodies  ARGV: how many  Returns the bodies.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
if not ids[1] then
  return ids
end
local bodies = redis.call('HMGET', KEYS[2], unpack(ids))
redis.call('HDEL', KEYS[2], unpack(ids))
redis.call('ZREM', KEYS[1], unpack(ids))
return bodies
