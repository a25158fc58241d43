-- Times to live (L17). FRAMES has the end of a message's time (7 bytes) and its fate (1 byte: d dropped, b buried) in
-- the field 'e' and id. While the message is not leased, it is in ENDS, by that end. It is never in READY, so it can
-- be removed from any place.
-- needs: BODIES, DEDUP, DISTINCT, ENDS, FIRSTS, FRAMES, OWNED, flags, has_large, has_ttl, has_unique
-- gives: KEYED, OWNS, end_attachments, fields_of, forget, has_distinct, holders, more_outdated
local more_outdated = false -- whether more messages are past their end than one call may end

-- The fields of FRAMES that hold this kind of attachment for these messages: a letter, and the id.
local function fields_of(letter, ids)
  local fields = {}
  for k = 1, #ids do
    fields[k] = letter .. ids[k]
  end
  return fields
end

-- A distinct key (B7) belongs to one undelivered or leased message. On a bounded queue, DISTINCT has the id of the
-- message that holds a key, and OWNED the key of an id. On other queues, both are in FRAMES, behind the letters KEYED
-- and OWNS. Behind the id may follow the beginning of its chain in ms (7 bytes): see `lib/distinct`.
local KEYED, OWNS = DISTINCT and '' or 'k', OWNED and '' or 'd'
local has_distinct = OWNED or string.find(flags, 'd', 1, true) -- whether a message ever had a distinct key

-- Frees the distinct keys of messages that are acked, dead or removed.
local function free_keys(ids)
  local fields = fields_of(OWNS, ids)
  for k, key in ipairs(call('HMGET', OWNED or FRAMES, unpack(fields))) do
    if key then
      call('HDEL', DISTINCT or FRAMES, KEYED .. key)
      call('HDEL', OWNED or FRAMES, fields[k])
    end
  end
end

-- Unique dedup marks end with their messages (L9). FRAMES has the dedup key of such a message in the field 'u' and
-- id.

-- Ends the attachments of messages that are acked, dead or removed. Returns the dedup keys whose marks end.
local function end_attachments(ids)
  local ended = {}
  if has_distinct then
    free_keys(ids)
  end
  if has_ttl then
    call('ZREM', ENDS, unpack(ids))
    call('HDEL', FRAMES, unpack(fields_of('e', ids)))
  end
  if not has_unique then
    return ended
  end
  local fields, known = fields_of('u', ids), {}
  for k, key in ipairs(call('HMGET', FRAMES, unpack(fields))) do
    if key then
      known[#known + 1] = fields[k]
      -- The key belongs to another message if its window is over.
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

-- Holders. FRAMES has the name of a lease's holder in the field 'h' and id, as long as the lease lives. Behind a byte
-- that no UTF-8 has (255) follows the progress that the holder reported.
local holders = string.find(flags, 'h', 1, true) -- whether a holder ever gave its name or its progress

-- The fields of FRAMES for these ids, with the fields of their holders.
local with_holders = holders and function(ids)
  local fields = { unpack(ids) }
  for k = 1, #ids do
    fields[#ids + k] = 'h' .. ids[k]
  end
  return fields
end

-- Large bodies. FRAMES has the reference of a message's body in the field 'b' and id: see `lib/uploads`.

-- Removes all data of these messages, also of dead letters.
local function forget(ids)
  if has_large then
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

--- @part "add_ends"
-- needs: ENDS, FRAMES, fields_of, has_ttl, lower_next_due
-- gives: add_ends
--- @include "lib/writes#lower_next_due"

-- Adds messages with a time to live to ENDS: they are there while they are not leased.
local function add_ends(ids)
  if not has_ttl or not ids[1] then
    return
  end
  local places = {}
  for k, kept in ipairs(call('HMGET', FRAMES, unpack(fields_of('e', ids)))) do
    if kept and #kept == 8 then
      local ends_at = decode('>I7', kept)
      lower_next_due(ends_at)
      places[#places + 1] = string.format('%d', ends_at)
      places[#places + 1] = ids[k]
    end
  end
  if places[1] then
    call('ZADD', ENDS, unpack(places))
  end
end
