-- The commands of a reliable queue's `settle_and_lease` on the fast path, and nothing else. It acks one message and
-- leases the next. No script of such a call costs less.
-- KEYS and ARGV: as for the call, and behind them the next message's id  Returns the message.
local call = redis.call
call('TIME')
call('HMGET', KEYS[1], 'config', 'accepted', 'flags', 'next_due', 'token', 'acked')
call('ZREM', KEYS[2], ARGV[7])
call('HDEL', KEYS[3], ARGV[7])
call('EXISTS', KEYS[6])
local frame = call('LINDEX', KEYS[8], '0')
call('LTRIM', KEYS[8], '1', '-1')
call('HSET', KEYS[3], ARGV[8], frame)
call('ZADD', KEYS[2], ARGV[4], ARGV[8])
call('EXISTS', KEYS[8], KEYS[7])
call('ZADD', KEYS[5], 'LT', '-1', 'armed')
call('HSET', KEYS[1], 'token', ARGV[8], 'acked', ARGV[8])
return { 'd', 1, -1, frame }
