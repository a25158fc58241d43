-- A store of once keys. CLAIMED and DONE have each key by the end of its claim or of its done mark. A key is in one
-- of them, and it is free after that time. TOKENS has the token of the claim, also of the claim that finished the
-- key. These keys have no expiry of Redis: its clock is not the clock that decides, and a server with a `volatile-*`
-- policy would evict them. Then an effect could happen again.
-- KEYS[1] once, KEYS[2] claimed, KEYS[3] done, KEYS[4] tokens; KEYS[5] is the guard (see src/keys.rs)
-- ARGV[1], ARGV[2] see `lib/call`
-- Errors: QKCONFIG  the store has another configuration. Nothing was done.
-- gives: CLAIMED, DONE, META, TOKENS, live, meta
--- @include "lib/call"
local META, CLAIMED, DONE, TOKENS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local meta = call('HMGET', META, 'config', 'token')
if meta[1] and meta[1] ~= ARGV[2] then
  local shown = string.gsub(sub(meta[1], 1, 200), '[^%w%p ]', '?')
  return redis.error_reply('QKCONFIG the store is kept as [' .. shown .. '], this handle was opened as [' .. ARGV[2]
    .. ']: open it again')
end

-- The end of a key's claim or done mark, if it has not come.
local function live(ends, key)
  local time = tonumber(call('ZSCORE', ends, key))
  return time and time > now and time
end

--- @part "claim"
-- claim: claims a key that is neither claimed nor done (O1, O2).
-- KEYS[…], ARGV[1], ARGV[2] see above
-- ARGV[3] key
-- ARGV[4] claim_time: in ms
-- Returns {0, token} if the caller has the claim now. Returns {1, ms until the claim ends} if another has it, and {2,
-- 0} if the key is done.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: CLAIMED, DONE, META, TOKENS, live, meta
local key = ARGV[3]

-- Removes keys whose claims or done marks have ended, up to 128 (O4).
local function clear_ended(ends)
  local ended = call('ZRANGEBYSCORE', ends, '-inf', now_text, 'LIMIT', '0', MANY)
  if ended[1] then
    call('HDEL', TOKENS, unpack(ended))
    call('ZREM', ends, unpack(ended))
  end
end

if live(DONE, key) then
  return { 2, 0 }
end
local busy = live(CLAIMED, key)
if busy then
  return { 1, math.min(busy - now, 9007199254740991) }
end

-- One token for each µs, as for leases (Token::PER_MILLI).
local last = tonumber(meta[2]) or 0
if not (last >= 0 and last < 9007199254740000) then
  last = 0 -- damaged; the clock is past the tokens that were given out
end
local token = math.max(last + 1, now_micros)
local token_text = string.format('%d', token)
call('HSET', META, 'config', ARGV[2], 'token', token_text)

-- The new claim is stored before old ones are cleared: clearing an old claim of this key would remove the new token.
call('ZADD', CLAIMED, now + tonumber(ARGV[4]), key)
call('HSET', TOKENS, key, token_text)
call('ZREM', DONE, key)
clear_ended(CLAIMED)
clear_ended(DONE)
return { 0, token }

--- @part "held"
-- The holder's claim. The first write removes nothing and needs no memory. So on a full server holders can finish and
-- release their claims.
-- ARGV[3] key
-- ARGV[4] token
-- needs: CLAIMED, TOKENS, live
-- gives: held, key, ours
call('ZREM', CLAIMED, '')
local key = ARGV[3]

-- Compared as text, because Lua's numbers do not tell the largest tokens apart.
local ours = call('HGET', TOKENS, key) == ARGV[4]
local held = ours and live(CLAIMED, key) -- whether the claim is live

--- @part "extend"
-- extend: sets the end of a live claim to now + claim_time.
-- KEYS[…], ARGV[1], ARGV[2] see above
-- ARGV[3], ARGV[4] see `once/store#held`
-- ARGV[5] claim_time: in ms
-- Returns 1; 0 if the claim is lost.
-- needs: CLAIMED, held, key
--- @include "once/store#held"
if not held then
  return 0
end
call('ZADD', CLAIMED, now + tonumber(ARGV[5]), key)
return 1

--- @part "finish"
-- finish: ends a live claim, and marks its key as done. A second call changes nothing (O3).
-- KEYS[…], ARGV[1], ARGV[2] see above
-- ARGV[3], ARGV[4] see `once/store#held`
-- ARGV[5] keep: how long the key stays done, in ms
-- Returns 1; 0 if the claim is lost.
-- needs: CLAIMED, DONE, held, key, live, ours
--- @include "once/store#held"
if not held then
  return ours and live(DONE, key) and 1 or 0
end
call('ZADD', DONE, now + tonumber(ARGV[5]), key)
call('ZREM', CLAIMED, key)
return 1

--- @part "release"
-- release: ends a live claim, and its key is free.
-- KEYS[…], ARGV[1], ARGV[2] see above
-- ARGV[3], ARGV[4] see `once/store#held`
-- Returns 1; 0 if the claim is lost.
-- needs: CLAIMED, TOKENS, held, key
--- @include "once/store#held"
if not held then
  return 0
end
call('ZREM', CLAIMED, key)
call('HDEL', TOKENS, key)
return 1

--- @part "counts"
-- counts: counts the claimed and the done keys.
-- KEYS[…], ARGV[1], ARGV[2] see above
-- Returns both numbers.
-- needs: CLAIMED, DONE
return { call('ZCOUNT', CLAIMED, '(' .. now_text, '+inf'), call('ZCOUNT', DONE, '(' .. now_text, '+inf') }
