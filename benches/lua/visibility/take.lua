-- A member is the attempt and the id; its score is the time it may be taken: its due time, or the end of its lease.
-- Delayed and leased messages look the same here.
-- KEYS: numbers, visible, the same again, bodies  ARGV: how many, lease in ms
-- Returns receipt, body, …
local sub, char, byte = string.sub, string.char, string.byte
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local places = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ARGV[1])
local ids, leases, taken, deadline = {}, {}, {}, now + ARGV[2]
for k = 1, #places do
  ids[k] = sub(places[k], 2)
  leases[2 * k - 1], leases[2 * k] = deadline, char(byte(places[k]) + 1) .. ids[k]
end
if places[1] then
  local bodies = redis.call('HMGET', KEYS[4], unpack(ids))
  for k = 1, #places do
    taken[2 * k - 1], taken[2 * k] = leases[2 * k], bodies[k]
  end
  redis.call('ZADD', KEYS[2], unpack(leases))
  redis.call('ZREM', KEYS[2], unpack(places))
end
return taken
