-- The commands of a reliable queue's push that finds a queue as it mostly is, and nothing beside them: what that
-- push costs at the least, however its script is written.
-- KEYS and ARGV: as for the push  Returns a number.
local call = redis.call
call('TIME')
call('HMGET', KEYS[1], 'config', 'accepted', 'flags', 'next_due')
call('ZINCRBY', KEYS[5], '-1', 'armed')
call('HINCRBY', KEYS[1], 'accepted', '1')
call('RPUSH', KEYS[8], ARGV[4])
return 1
