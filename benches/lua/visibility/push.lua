-- KEYS: numbers, visible, the same again, bodies  ARGV: bodies
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = redis.call('INCRBY', KEYS[1], #ARGV)
local places, bodies = {}, {}
for k = 1, #ARGV do
  local place = struct.pack('>BI7', 1, last - #ARGV + k)
  places[2 * k - 1], places[2 * k] = now, place
  bodies[2 * k - 1], bodies[2 * k] = string.sub(place, 2), ARGV[k]
end
redis.call('HSET', KEYS[4], unpack(bodies))
redis.call('ZADD', KEYS[2], unpack(places))
return last
