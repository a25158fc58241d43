-- listed: takes the mark off a queue that is in the list of queues now, see `config`.
--
-- The token keeps a late call from taking the mark off a later queue of this name.
-- KEYS[1] meta
-- ARGV[2] the token of the mark
-- Returns 1.
local call = redis.call
local config = call('HGET', KEYS[1], 'config') or ''
local mark = ' unlisted=' .. ARGV[2]
if string.sub(config, -#mark) == mark then
  call('HSET', KEYS[1], 'config', string.sub(config, 1, -#mark - 1))
end
return 1
