-- KEYS: numbers, ready, leases, bodies  ARGV: bodies
local last = redis.call('INCRBY', KEYS[1], #ARGV)
local places, bodies = {}, {}
for k = 1, #ARGV do
  local place = struct.pack('>BI7', 1, last - #ARGV + k)
  places[k] = place
  bodies[2 * k - 1], bodies[2 * k] = string.sub(place, 2), ARGV[k]
end
redis.call('HSET', KEYS[4], unpack(bodies))
redis.call('RPUSH', KEYS[2], unpack(places))
return last
