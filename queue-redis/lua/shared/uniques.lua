-- Dedup marks that end with their messages (L9): FRAMES keeps the key of such a message under 'u' and the
-- id.
-- needs: DEDUP, FIRSTS, FRAMES, flags
-- gives: end_marks, uniques
-- Returns, instead of what the script says: KEYS if the caller shall send the keys of the marks, too, and
-- then nothing was done.
local uniques = string.find(flags, 'u', 1, true) -- whether there ever was any
if uniques and not DEDUP then
  return redis.status_reply('KEYS')
end

-- These messages are done. Answers the keys whose marks have ended with them.
local function end_marks(ids)
  local fields, known, ended = {}, {}, {}
  if not uniques then
    return ended
  end
  for k = 1, #ids do
    fields[k] = 'u' .. ids[k]
  end
  for k, key in ipairs(call('HMGET', FRAMES, unpack(fields))) do
    if key then
      known[#known + 1] = fields[k]
      -- Where the window is over, the key may have another message's mark.
      if call('HGET', FIRSTS, key) == ids[k] then
        call('HDEL', FIRSTS, key)
        call('ZREM', DEDUP, key)
        ended[#ended + 1] = key
      end
    end
  end
  if known[1] then
    call('HDEL', FRAMES, unpack(known))
  end
  return ended
end
