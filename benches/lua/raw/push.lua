-- The commands of a reliable queue's push on the fast path, and nothing else. No script of such a push costs less.
-- KEYS and ARGV: as for the push  Returns a number.
local call = redis.call
call('TIME')
call('HMGET', KEYS[1], 'config', 'accepted', 'flags', 'next_due')
call('ZINCRBY', KEYS[5], '-1', 'armed')
call('HINCRBY', KEYS[1], 'accepted', '1')
call('RPUSH', KEYS[8], ARGV[4])
return 1
