-- Dedup marks that end with their messages (L9): FRAMES keeps the key of such a message under 'u' and the
-- id.
-- needs: DEDUP, ENDS, FIRSTS, FRAMES, fields_of, limited, uniques
-- gives: end_ties

-- These messages are done: what was to end with them ends. Answers the keys whose marks have.
local function end_ties(ids)
  local ended = {}
  if limited then
    call('ZREM', ENDS, unpack(ids))
    call('HDEL', FRAMES, unpack(fields_of('e', ids)))
  end
  if not uniques then
    return ended
  end
  local fields, known = fields_of('u', ids), {}
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
