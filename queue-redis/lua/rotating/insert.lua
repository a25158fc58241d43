-- insert: puts items at the tail.
-- needs: ARRIVALS, BODIES, FRESH, KEYED, META, NAMED, RING, accepted, arm, pace
-- ARGV[3] how many items
-- ARGV[4 …] their payloads
-- ARGV[4 + items …] pairs of entry's number and key
-- Returns the last id if all were added, which then have consecutive ids; or an array with the id
-- of each, negative for one that is in the ring already. OOM: nothing was written.
local count = tonumber(ARGV[3])
local keys, ids, present = {}, {}, false
local bodies, places, keyed, named, new, added = {}, {}, {}, {}, 0, {}
for k = 4 + count, #ARGV, 2 do
  keys[tonumber(ARGV[k])] = ARGV[k + 1]
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
  else
    new = new + 1
    local id = pack('>I7', accepted + new)
    ids[k] = accepted + new
    bodies[2 * new - 1], bodies[2 * new] = id, ARGV[3 + k]
    places[2 * new - 1], places[2 * new] = number + new, id
    if key then
      added[key] = id
      keyed[#keyed + 1], keyed[#keyed + 2] = key, id
      named[#named + 1], named[#named + 2] = id, key
    end
  end
end
if new > 0 then
  call('HSET', META, 'accepted', accepted + new, 'joins', number + new)
  call('HSET', BODIES, unpack(bodies))
  if keyed[1] then
    call('HSET', NAMED, unpack(named))
    call('HSET', KEYED, unpack(keyed))
  end
  call('ZADD', pace and FRESH or RING, unpack(places))
  arm(ARRIVALS, new)
end
return present and ids or accepted + new
