-- A place is the attempt and the id; it is the receipt, too.
-- KEYS: numbers, ready, leases, bodies  ARGV: how many, lease in ms  Returns receipt, body, …
local sub = string.sub
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 128)
if expired[1] then
  for k = #expired, 1, -1 do
    local again = string.char(string.byte(expired[k]) + 1) .. sub(expired[k], 2)
    redis.call('LPUSH', KEYS[2], again)
  end
  redis.call('ZREM', KEYS[3], unpack(expired))
end
local places = redis.call('LRANGE', KEYS[2], 0, ARGV[1] - 1)
local ids, leases, taken, deadline = {}, {}, {}, now + ARGV[2]
for k = 1, #places do
  ids[k] = sub(places[k], 2)
  leases[2 * k - 1], leases[2 * k] = deadline, places[k]
end
if places[1] then
  local bodies = redis.call('HMGET', KEYS[4], unpack(ids))
  for k = 1, #places do
    taken[2 * k - 1], taken[2 * k] = places[k], bodies[k]
  end
  redis.call('ZADD', KEYS[3], unpack(leases))
  redis.call('LTRIM', KEYS[2], #places, -1)
end
return taken
