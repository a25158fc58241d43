-- gives: CLAIMED, DONE, META, TOKENS, live, meta
--- @include "lib/call"
-- Stores of once keys. CLAIMED and DONE hold each key by the time at which its claim, or its mark,
-- ends; a key is in one of them, and free if that time has come. TOKENS holds the token of the
-- claim, or of the claim that finished it. Nothing here has an expiry of Redis' own: that goes by
-- another clock than the one that decides, and a server with a volatile-* policy would evict what
-- has one, which would let an effect happen again.
local META, CLAIMED, DONE, TOKENS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local meta = call('HMGET', META, 'config', 'token')
if meta[1] and meta[1] ~= ARGV[2] then
  local shown = string.gsub(sub(meta[1], 1, 200), '[^%w%p ]', '?')
  return redis.error_reply('QKCONFIG the store is kept as [' .. shown .. '], this handle was opened as [' .. ARGV[2]
    .. ']: open it again')
end

-- The end of a key's claim, or of its mark, if that is yet to come.
local function live(ends, key)
  local time = tonumber(call('ZSCORE', ends, key))
  return time and time > now and time
end

--- @part "claim"
-- claim: takes a key that is neither claimed nor done (O1, O2).
-- ARGV[3] key
-- ARGV[4] claim_time in ms
-- Returns {0, token} if it is the caller's now, {1, ms until the claim ends} if it is another's,
-- {2, 0} if it is done. OOM: nothing was written.
-- needs: CLAIMED, DONE, META, TOKENS, live, meta
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

--- @part "held"
-- Verbs of a claim's holder. They begin with a write that needs no memory, so that a full server
-- lets them finish what has happened and free what is held.
-- ARGV[3] key
-- ARGV[4] token
-- needs: CLAIMED, TOKENS, live
-- gives: held, key, ours
call('ZREM', CLAIMED, '')
local key = ARGV[3]
-- As text: numbers of Lua's do not tell the largest tokens apart.
local ours = call('HGET', TOKENS, key) == ARGV[4]
local held = ours and live(CLAIMED, key)

--- @part "extend"
-- extend: lets a live claim end at now + claim_time.
-- ARGV[5] claim_time in ms
-- Returns 1, or 0 if the claim is lost.
-- needs: CLAIMED, held, key
--- @include "once/store#held"
if not held then
  return 0
end
call('ZADD', CLAIMED, now + tonumber(ARGV[5]), key)
return 1

--- @part "finish"
-- finish: ends a live claim and marks its key as done; again, it changes nothing (O3).
-- ARGV[5] how long to keep the mark, in ms
-- Returns 1, or 0 if the claim is lost.
-- needs: CLAIMED, DONE, held, key, live, ours
--- @include "once/store#held"
if not held then
  return ours and live(DONE, key) and 1 or 0
end
call('ZADD', DONE, now + tonumber(ARGV[5]), key)
call('ZREM', CLAIMED, key)
return 1

--- @part "release"
-- release: ends a live claim; its key is free.
-- Returns 1, or 0 if the claim is lost.
-- needs: CLAIMED, TOKENS, held, key
--- @include "once/store#held"
if not held then
  return 0
end
call('ZREM', CLAIMED, key)
call('HDEL', TOKENS, key)
return 1

--- @part "counts"
-- counts: how many keys are claimed, and how many are done.
-- Returns both.
-- needs: CLAIMED, DONE
return { call('ZCOUNT', CLAIMED, '(' .. now_text, '+inf'), call('ZCOUNT', DONE, '(' .. now_text, '+inf') }
