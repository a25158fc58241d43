-- Ending what is outdated (L17).
-- needs: ENDS, FRAMES, add_to, die, fields_of, forget, gone, is_sound, leave, outdated_left, place_of
-- gives: outdate

-- Drops or buries up to 128 outdated messages, by (end, id).
local function outdate()
  local over = call('ZRANGEBYSCORE', ENDS, '-inf', now_text, 'LIMIT', 0, MANY)
  outdated_left = false
  if not over[1] then
    return
  end
  local kept = call('HMGET', FRAMES, unpack(fields_of('e', over)))
  local dropped, buried, ended = {}, {}, {}
  for k, id in ipairs(over) do
    local fate = kept[k] and #kept[k] == 8 and byte(kept[k], 8)
    if fate == 100 then
      dropped[#dropped + 1] = id
    elseif fate == 98 then
      buried[id] = true
    else
      -- Nobody knows any more what is to become of it, so it stays, and has no end.
      call('ZREM', ENDS, id)
      call('HDEL', FRAMES, 'e' .. id)
    end
    if fate == 100 or fate == 98 then
      ended[#ended + 1] = id
    end
  end
  if dropped[1] then
    add_to('outdated', #dropped)
  end
  for _, id in ipairs(ended) do
    local key, member = place_of(id)
    -- An end without a message is a leftover of foreign hands: it is dropped.
    if key then
      local frame = buried[id] and (call('HGET', FRAMES, id) or '')
      if frame then
        die(id, frame, is_sound(frame, id) and 'o' or 'd', '')
      end
      leave(key, member)
    end
  end
  if ended[1] then
    gone(ended)
  end
  if dropped[1] then
    forget(dropped)
  end
  outdated_left = #over == MANY and call('ZCOUNT', ENDS, '-inf', now_text) > 0
end
