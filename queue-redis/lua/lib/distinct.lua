-- Distinct keys in a push (B7); `lib/attachments` says where they are stored. The holder of a key is the message that
-- was accepted last under it.
--
-- A chain is a message and those that replaced it, one after another, each with a longest wait. It is counted from the
-- first one's push. A message without a longest wait ends the chain.
-- needs: DISTINCT, FRAMES, KEYED, META, OWNED, OWNS, add_to, end_attachments, flags
-- needs: forget, has_distinct, place_of, remove_place
-- gives: give_key, holder_of, replace

-- The holder of a key; nil if there is none. If it is undelivered, also its place, and the beginning of its chain.
local function holder_of(key)
  local stored = call('HGET', DISTINCT or FRAMES, KEYED .. key)
  local id = stored and sub(stored, 1, 7)
  -- A key that belongs to another message replaces nothing.
  if not id or call('HGET', OWNED or FRAMES, OWNS .. id) ~= key then
    return nil
  end
  local place, member = place_of(id)
  local began = place and #stored == 14 and decode('>I7', stored, 8) or nil
  return { id = id, place = place, member = member, began = began }
end

-- Gives a key to a new message, which takes it from the holder, if there is one. `began` is the beginning of its chain.
local function give_key(key, id, holder, began)
  if holder then
    call('HDEL', OWNED or FRAMES, OWNS .. holder.id)
  end
  call('HSET', OWNED or FRAMES, OWNS .. id, key)
  call('HSET', DISTINCT or FRAMES, KEYED .. key, id .. (began and pack('>I7', began) or ''))
  if not has_distinct then
    has_distinct, flags = true, flags .. 'd'
    call('HSET', META, 'flags', flags)
  end
end

-- Removes a holder that was replaced. Returns the dedup keys whose marks end.
local function replace(holder)
  add_to('replaced', 1)
  local ended = end_attachments({ holder.id })
  forget({ holder.id })
  remove_place(holder.place, holder.member)
  return ended
end
