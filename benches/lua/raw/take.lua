-- Moves a batch from a list to a backup.
-- KEYS: ready, backup  ARGV: how many  Returns the bodies.
local bodies = redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)
if bodies[1] then
  redis.call('RPUSH', KEYS[2], unpack(bodies))
  redis.call('LTRIM', KEYS[1], #bodies, -1)
end
return bodies
