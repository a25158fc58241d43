-- Times to live (L17). FRAMES keeps the end of a message's time under 'e' and the id (7 bytes), and what
-- becomes of the message then (1 byte: d dropped, b buried). While nobody holds the message, it stands in
-- ENDS by that end. It is never in READY, so that it can be taken out of its place wherever that is.
-- needs: BODIES, DEDUP, ENDS, FIRSTS, FRAMES, apart, flags, limited, uniques
-- gives: end_ties, fields_of, forget, holders, outdated_left
local outdated_left = false -- whether more are outdated than one call ends

-- The fields under which FRAMES keeps this of messages: a letter and the id each.
local function fields_of(letter, ids)
  local fields = {}
  for k = 1, #ids do
    fields[k] = letter .. ids[k]
  end
  return fields
end
-- Dedup marks that end with their messages (L9): FRAMES keeps the key of such a message under 'u' and the
-- id.

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
-- Who holds a lease, if its holder gave a name: FRAMES keeps it under 'h' and the id, as long as the lease
-- lives.
local holders = string.find(flags, 'h', 1, true) -- whether any ever gave a name

-- These ids, and the names of who holds them, as fields of FRAMES.
local with_holders = holders and function(ids)
  local fields = { unpack(ids) }
  for k = 1, #ids do
    fields[#ids + k] = 'h' .. ids[k]
  end
  return fields
end
-- Large bodies. A script pays for each byte of each string that it sees, so headers and body of 16 KiB and
-- more are in BODIES, by a reference that the producer made up; the frame says so in their place, and
-- FRAMES keeps the reference under 'b' and the id. A producer uploads a body before its push, without a
-- script, and notes the reference in UPLOADS before that; the push takes it out (see `terms`). Consumers
-- read BODIES without a script.

-- These messages are gone for good, dead letters too: nothing is kept of them.
local function forget(ids)
  if apart then
    local fields, known, references = fields_of('b', ids), {}, {}
    for k, reference in ipairs(call('HMGET', FRAMES, unpack(fields))) do
      if reference then
        known[#known + 1], references[#references + 1] = fields[k], reference
      end
    end
    if known[1] then
      call('HDEL', BODIES, unpack(references))
      call('HDEL', FRAMES, unpack(known))
    end
  end
  call('HDEL', FRAMES, unpack(with_holders and with_holders(ids) or ids))
end

--- @part "wait_on"
-- needs: ENDS, FRAMES, expect, fields_of, limited
-- gives: wait_on
--- @include "lib/writes#expect"
-- Messages with a time to live wait for its end while nobody holds them (see `ends`).

-- Nobody holds these any more.
local function wait_on(ids)
  if not limited or not ids[1] then
    return
  end
  local places = {}
  for k, kept in ipairs(call('HMGET', FRAMES, unpack(fields_of('e', ids)))) do
    if kept and #kept == 8 then
      local over = decode('>I7', kept)
      expect(over)
      places[#places + 1] = string.format('%d', over)
      places[#places + 1] = ids[k]
    end
  end
  if places[1] then
    call('ZADD', ENDS, unpack(places))
  end
end
