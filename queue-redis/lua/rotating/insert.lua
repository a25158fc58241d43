-- insert: stores items at the tail.
-- KEYS[…] the ring's keys, see `rotating/ring`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of items
-- ARGV[4 …] payloads, or references of large ones; then pairs of an entry's number and its key
-- Returns the last id if all items were added, with consecutive ids. Otherwise an array with the id of each; minus
-- the id of an item that is in the ring already.
-- Errors: QKUPLOAD  a body is not uploaded. Nothing was done.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: ARRIVALS, BODIES, FRESH, KEYED, META, NAMED, RING, UPLOADS, accepted, flags, pace, sweep, wake_up
--- @include "rotating/ring"
--- @include "lib/wake_up"
--- @include "lib/uploads"
local count = tonumber(ARGV[3])
local keys, ids, present = {}, {}, false
local bodies, places, keyed, named_holders, new, added = {}, {}, {}, {}, 0, {}
for k = 4 + count, #ARGV, 2 do
  keys[tonumber(ARGV[k])] = ARGV[k + 1]
end
local uploads, taken, refused -- references of large items, by entry
if UPLOADS then
  local all = {}
  uploads, taken, refused = {}, {}, {}
  for k = 1, count do
    if byte(ARGV[3 + k], 1) == 2 then
      uploads[k] = sub(ARGV[3 + k], 6)
      all[#all + 1] = uploads[k]
    end
  end
  -- If the network repeats an insert, the second one finds the uploads taken, and fails.
  for _, waits in ipairs(all[1] and call('ZMSCORE', UPLOADS, unpack(all)) or all) do
    if not waits then
      return redis.error_reply('QKUPLOAD a body is not there: it was lost, or its insert has run before')
    end
  end
end
local number = tonumber(call('HGET', META, 'joins')) or 0
if not (number >= 0 and number < 9007199254740991) then
  number = 0 -- damaged
end
for k = 1, count do
  local key = keys[k]
  local held = key and (added[key] or call('HGET', KEYED, key))
  if held and #held == 7 then
    ids[k], present = -decode('>I7', held), true
    if uploads then
      refused[#refused + 1] = uploads[k]
    end
  else
    new = new + 1
    local id = pack('>I7', accepted + new)
    ids[k] = accepted + new
    bodies[2 * new - 1], bodies[2 * new] = id, ARGV[3 + k]
    if uploads then
      taken[#taken + 1] = uploads[k]
    end
    places[2 * new - 1], places[2 * new] = number + new, id
    if key then
      added[key] = id
      keyed[#keyed + 1], keyed[#keyed + 2] = key, id
      named_holders[#named_holders + 1], named_holders[#named_holders + 2] = id, key
    end
  end
end
if new > 0 then
  call('HSET', META, 'accepted', accepted + new, 'joins', number + new)
  if taken and taken[1] and flags == '' then
    call('HSET', META, 'flags', 'b')
  end
  call('HSET', BODIES, unpack(bodies))
  if keyed[1] then
    call('HSET', NAMED, unpack(named_holders))
    call('HSET', KEYED, unpack(keyed))
  end
  call('ZADD', pace and FRESH or RING, unpack(places))
  if taken and taken[1] then
    call('ZREM', UPLOADS, unpack(taken))
  end
  wake_up(ARRIVALS, new)
end
if refused and refused[1] then
  call('HDEL', BODIES, unpack(refused))
  call('ZREM', UPLOADS, unpack(refused))
end
if sweep then
  sweep()
end
return present and ids or accepted + new
