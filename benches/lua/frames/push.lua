-- KEYS: numbers, ready  ARGV: bodies
local last = redis.call('INCRBY', KEYS[1], #ARGV)
local frames = {}
for k = 1, #ARGV do
  frames[k] = struct.pack('>BI7', 1, last - #ARGV + k) .. ARGV[k]
end
redis.call('RPUSH', KEYS[2], unpack(frames))
return last
