-- claim: takes a key that is neither claimed nor done (O1, O2).
-- needs: CLAIMED, DONE, META, TOKENS, live, meta
-- ARGV[3] key
-- ARGV[4] claim_time in ms
-- Returns {0, token} if it is the caller's now, {1, ms until the claim ends} if it is another's,
-- {2, 0} if it is done. OOM: nothing was written.
local key = ARGV[3]

-- Clears away what has ended, as much as one call may (O4).
local function clear(ends)
  local over = call('ZRANGEBYSCORE', ends, '-inf', now_text, 'LIMIT', '0', MANY)
  if over[1] then
    call('HDEL', TOKENS, unpack(over))
    call('ZREM', ends, unpack(over))
  end
end

if live(DONE, key) then
  return { 2, 0 }
end
local busy = live(CLAIMED, key)
if busy then
  return { 1, math.min(busy - now, 9007199254740991) }
end
-- One for each µs, as leases have them (Token::PER_MILLI).
local last = tonumber(meta[2]) or 0
if not (last >= 0 and last < 9007199254740000) then
  last = 0 -- damaged; the clock has passed those that were handed out
end
local token = math.max(last + 1, now_micros)
local token_text = string.format('%d', token)
call('HSET', META, 'config', ARGV[2], 'token', token_text)
-- Before clearing: what has ended of this key is gone, or its claim would be cleared away with it.
call('ZADD', CLAIMED, now + tonumber(ARGV[4]), key)
call('HSET', TOKENS, key, token_text)
call('ZREM', DONE, key)
clear(CLAIMED)
clear(DONE)
return { 0, token }
