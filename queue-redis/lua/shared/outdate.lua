-- Ending what is outdated (L17).
-- needs: ENDS, FRAMES, META, die, fields_of, forget, gone, leave, outdated_left, place_of
-- gives: outdate

-- Drops or buries up to 128 outdated messages, by (end, id).
local function outdate()
  local over = call('ZRANGEBYSCORE', ENDS, '-inf', now_text, 'LIMIT', 0, MANY)
  outdated_left = false
  if not over[1] then
    return
  end
  local kept = call('HMGET', FRAMES, unpack(fields_of('e', over)))
  local dropped = {}
  for k, id in ipairs(over) do
    if kept[k] and byte(kept[k], 8) == 100 then
      dropped[#dropped + 1] = id
    end
  end
  if dropped[1] then
    call('HINCRBY', META, 'outdated', #dropped)
  end
  for k, id in ipairs(over) do
    local key, member = place_of(id)
    -- An end without a message is a leftover of foreign hands: it is dropped.
    if key then
      if kept[k] and byte(kept[k], 8) == 98 then
        die(id, call('HGET', FRAMES, id), 'o', '')
      end
      leave(key, member)
    end
  end
  gone(over)
  if dropped[1] then
    forget(dropped)
  end
  outdated_left = #over == MANY and call('ZCOUNT', ENDS, '-inf', now_text) > 0
end
