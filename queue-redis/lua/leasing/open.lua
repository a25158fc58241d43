-- open: stores the configuration of a queue that does not exist yet, or returns the stored one.
-- For a rotating queue and a store of once keys too.
--
-- KEYS[1] meta, KEYS[2 …] all others of the kind
-- ARGV[1] the time, not used
-- ARGV[2] the configuration, of a queue with the mark that `config` describes; '' creates nothing
-- ARGV[3] a bounded queue's capacity, '' otherwise
-- ARGV[4 …] the type that each key has
-- Returns {configuration, capacity or 0, 1 if it was resized}; nil if nothing is stored.
local call = redis.call
local stored = call('HMGET', KEYS[1], 'config', 'capacity', 'resized')
if not stored[1] then
  if ARGV[2] == '' then
    return false
  end
  call('HSET', KEYS[1], 'config', ARGV[2])
  if ARGV[3] ~= '' then
    call('HSET', KEYS[1], 'capacity', ARGV[3])
  end
  return { ARGV[2], tonumber(ARGV[3]) or 0, 0 }
end
return { stored[1], tonumber(stored[2]) or 0, stored[3] and 1 or 0 }
