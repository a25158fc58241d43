-- rotate: visits items at the head, and puts them at the tail, in one step (T1). Damaged items, without a body or
-- with a damaged id, cannot be visited. They leave the ring with their keys.
-- KEYS[…] the ring's keys, see `rotating/ring`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] max: the number of items at most
-- Returns {ms until an item is due or -1, id, payload, …}. The time is there only if no item is due.
-- needs: ARRIVALS, BODIES, DUE, FRESH, KEYED, NAMED, RING, add_to, fits, pace, reference_of, size_of, sweep, wake_up
--- @include "rotating/ring"
--- @include "lib/wake_up"
--- @include "lib/frames#size"
--- @include "rotating/ring#reference_of"
--- @include "lib/uploads"
--- @include "lib/writes#add_to"
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local max = tonumber(ARGV[3])
local next_due -- of the first visited item, with a pace

-- The due items, in the ring's order.
local function due_items()
  local ring = call('ZRANGE', RING, 0, max - 1, 'WITHSCORES')
  local items = {}
  if not pace then
    for k = 1, #ring, 2 do
      items[#items + 1] = { id = ring[k] }
    end
    return items
  end
  next_due = tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2])
  if next_due and next_due <= now then
    local ids = {}
    for k = 1, #ring, 2 do
      ids[#ids + 1] = ring[k]
    end
    local dues = call('ZMSCORE', DUE, unpack(ids))
    for k = 1, #ids do
      if not dues[k] or tonumber(dues[k]) <= now then
        items[#items + 1] = { id = ids[k], place = tonumber(ring[2 * k]) }
      end
    end
    if not items[1] then
      -- A later item is due before the first ones only if the clock was set back.
      for _, id in ipairs(call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, max)) do
        items[#items + 1] = { id = id, place = tonumber(call('ZSCORE', RING, id)) or 0 }
      end
    end
  end
  local fresh = call('ZRANGE', FRESH, 0, max - 1, 'WITHSCORES')
  for k = 1, #fresh, 2 do
    items[#items + 1] = { id = fresh[k], place = tonumber(fresh[k + 1]) }
  end
  table.sort(items, function(a, b)
    return a.place < b.place
  end)
  return items
end

local items = due_items()
local reply, bodies, visited, damaged, raw, full = { -1 }, {}, {}, {}, 0, false
for first = 1, math.min(max, #items), CHUNK do
  local ids = {}
  for k = first, math.min(first + CHUNK - 1, max, #items) do
    ids[#ids + 1] = items[k].id
  end
  local read = call('HMGET', BODIES, unpack(ids))
  for k = 1, #ids do
    local reference = reference_of and read[k] and reference_of(read[k])
    if not read[k] or #ids[k] ~= 7 or reference and call('HEXISTS', BODIES, reference) == 0 then
      damaged[#damaged + 1] = ids[k]
    else
      bodies[#bodies + 1] = read[k]
      raw = raw + (reference and size_of(read[k]) or #read[k])
      full = not fits(bodies, raw)
      if full then
        break
      end
      visited[#visited + 1] = ids[k]
      reply[#reply + 1] = ids[k]
      reply[#reply + 1] = read[k]
    end
  end
  if full then
    break
  end
end

if damaged[1] then
  for _, key in ipairs({ RING, FRESH, DUE }) do
    call('ZREM', key, unpack(damaged))
  end
  call('HDEL', BODIES, unpack(damaged))
  for _, key in ipairs(call('HMGET', NAMED, unpack(damaged))) do
    if key then
      call('HDEL', KEYED, key)
    end
  end
  call('HDEL', NAMED, unpack(damaged))
end
if visited[1] then
  local number = add_to('joins', #visited) - #visited
  local places, dues = {}, {}
  for k = 1, #visited do
    places[2 * k - 1], places[2 * k] = number + k, visited[k]
    dues[2 * k - 1], dues[2 * k] = pace and now + pace, visited[k]
  end
  if pace then
    call('ZADD', DUE, unpack(dues))
  end
  call('ZADD', RING, unpack(places))
  -- A call that leaves work behind wakes up the next process.
  if not pace or (call('ZREM', FRESH, unpack(visited)) and call('EXISTS', FRESH) == 1)
    or tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]) <= now then
    wake_up(ARRIVALS, 1, true)
  end
elseif damaged[1] then
  reply[1] = 0 -- there may be others
elseif next_due then
  reply[1] = math.min(math.max(next_due - now, 0), 9007199254740991)
end
if sweep then
  sweep()
end
return reply
