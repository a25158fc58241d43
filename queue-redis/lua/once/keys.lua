-- Stores of once keys. CLAIMED and DONE hold each key by the time at which its claim, or its mark,
-- ends; a key is in one of them, and free if that time has come. TOKENS holds the token of the
-- claim, or of the claim that finished it. Nothing here has an expiry of Redis' own: that goes by
-- another clock than the one that decides, and a server with a volatile-* policy would evict what
-- has one, which would let an effect happen again.
-- gives: META, CLAIMED, DONE, TOKENS, meta, live
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
