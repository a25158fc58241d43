-- A frame is the attempt, the id and the body; the first two are the receipt.
-- KEYS: numbers, ready, leases, in flight  ARGV: how many, lease in ms  Returns receipt, body, …
local sub = string.sub
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 128)
if expired[1] then
  local bodies = redis.call('HMGET', KEYS[4], unpack(expired))
  for k = #expired, 1, -1 do
    local again = string.char(string.byte(expired[k]) + 1) .. sub(expired[k], 2)
    redis.call('LPUSH', KEYS[2], again .. bodies[k])
  end
  redis.call('HDEL', KEYS[4], unpack(expired))
  redis.call('ZREM', KEYS[3], unpack(expired))
end
local frames = redis.call('LRANGE', KEYS[2], 0, ARGV[1] - 1)
local leases, taken, deadline = {}, {}, now + ARGV[2]
for k = 1, #frames do
  local receipt = sub(frames[k], 1, 8)
  leases[2 * k - 1], leases[2 * k] = deadline, receipt
  taken[2 * k - 1], taken[2 * k] = receipt, sub(frames[k], 9)
end
if frames[1] then
  redis.call('HSET', KEYS[4], unpack(taken))
  redis.call('ZADD', KEYS[3], unpack(leases))
  redis.call('LTRIM', KEYS[2], #frames, -1)
end
return taken
