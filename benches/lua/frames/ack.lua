-- KEYS: numbers, ready, leases, in flight  ARGV: receipts  Returns how many were live.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local deadlines = redis.call('ZMSCORE', KEYS[3], unpack(ARGV))
local live = {}
for k = 1, #ARGV do
  if deadlines[k] and tonumber(deadlines[k]) > now then
    live[#live + 1] = ARGV[k]
  end
end
if live[1] then
  redis.call('HDEL', KEYS[4], unpack(live))
  redis.call('ZREM', KEYS[3], unpack(live))
end
return #live
