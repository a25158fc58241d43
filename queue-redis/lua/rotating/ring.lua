-- A rotating queue: its keys, and its short verbs. RING has ids by the number of their place. BODIES has headers and
-- bodies, KEYED the id of a key, NAMED the key of an id. With a pace, FRESH has the items without a visit in place of
-- RING, by the same numbers. DUE has the next due times of visited items. These are due in the ring's order, so the
-- heads of both sets give the due items, and no other item is read.
-- KEYS[1] to KEYS[8] as below; KEYS[9] is the guard (see src/keys.rs); KEYS[10] only in calls that need it
-- ARGV[1], ARGV[2] see `lib/call`
-- needs: config
-- gives: ARRIVALS, BODIES, DUE, EXTRA_HEAD, FRESH, KEYED, META, NAMED, RING, UPLOADS, meta, pace
--- @include "lib/call"
local META, RING, BODIES, ARRIVALS, KEYED, NAMED, FRESH, DUE, _, UPLOADS = unpack(KEYS)
local EXTRA_HEAD = nil -- no frames
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config"
local pace = tonumber(string.match(config, 'pace=(%d+)')) -- ms from a visit to the next (T4)

--- @part "reference_of"
-- Large items. BODIES has a reference under the id, and headers and body under the reference: see `lib/uploads` and
-- src/frame.rs.
-- needs: flags
-- gives: reference_of

-- The reference in an item's entry; false if the entry is headers and body. Nil if the ring never had a large item.
local reference_of = flags ~= '' and function(body)
  return byte(body, 1) == 2 and #body == 21 and sub(body, 6)
end or nil

--- @part "list"
-- list: shows a page of items from the head on, and moves none.
-- KEYS[…], ARGV[1], ARGV[2] see above
-- ARGV[3] after: the number of the last place that was shown, 0 for the first page
-- ARGV[4] limit: the number of items at most
-- Returns {number to continue after, or -1 at the end, id, payload, …}.
-- needs: BODIES, FRESH, RING, fits, pace, reference_of, size_of
--- @include "lib/frames#size"
--- @include "rotating/ring#reference_of"
local LAST = '9007199254740991' -- a damaged place behind it would begin the same page again
local limit = tonumber(ARGV[4])
local function after(key)
  return call('ZRANGEBYSCORE', key, '(' .. ARGV[3], LAST, 'WITHSCORES', 'LIMIT', 0, limit + 1)
end

local visited, fresh = after(RING), pace and after(FRESH) or {}
local reply, bodies, raw, last, v, f = { -1 }, {}, 0, -1, 1, 1
while visited[v] or fresh[f] do
  local id, place
  if not fresh[f] or (visited[v] and tonumber(visited[v + 1]) < tonumber(fresh[f + 1])) then
    id, place, v = visited[v], tonumber(visited[v + 1]), v + 2
  else
    id, place, f = fresh[f], tonumber(fresh[f + 1]), f + 2
  end
  local body = call('HGET', BODIES, id)
  local reference = reference_of and body and reference_of(body)
  -- Damaged items are skipped.
  if body and #id == 7 and not (reference and call('HEXISTS', BODIES, reference) == 0) then
    bodies[#bodies + 1] = body
    raw = raw + (reference and size_of(body) or #body)
    if #bodies > limit or not fits(bodies, raw) then
      -- A page that shows anything ends after its beginning.
      reply[1] = math.max(math.floor(last), ARGV[3] + 1)
      break
    end
    reply[#reply + 1] = id
    reply[#reply + 1] = body
    last = place
  end
end
return reply

--- @part "remove"
-- remove: removes items for good (T2).
-- KEYS[…], ARGV[1], ARGV[2] see above
-- ARGV[3 …] ids
-- Returns the number of removed items.
-- needs: ARRIVALS, BODIES, DUE, FRESH, KEYED, NAMED, RING, pace, reference_of
--- @include "rotating/ring#reference_of"
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local removed = 0
for k = 3, #ARGV do
  local id = ARGV[k]
  local there = call('ZREM', RING, id)
  if pace then
    there = there + call('ZREM', FRESH, id)
    call('ZREM', DUE, id)
  end
  if there > 0 then
    removed = removed + 1
    local key = call('HGET', NAMED, id)
    if key then
      call('HDEL', KEYED, key)
      call('HDEL', NAMED, id)
    end
    local body = reference_of and call('HGET', BODIES, id)
    local reference = body and reference_of(body)
    if reference then
      call('HDEL', BODIES, reference)
    end
    call('HDEL', BODIES, id)
  end
end
return removed

--- @part "reconfigure"
-- reconfigure: stores another configuration. With another pace, each item is due, in its place.
-- KEYS[…], ARGV[1], ARGV[2] see above
-- ARGV[3] configuration
-- ARGV[4] limit: the number of items that the ring may have
-- Returns 0; or -n if the ring has n items, which are too many.
-- needs: ARRIVALS, DUE, FRESH, META, RING, config, wake_up
--- @include "lib/wake_up"
local new = ARGV[3] .. (string.match(config, ' unlisted=%x+$') or '') -- the mark stays, see `lib/config`
if config == new then
  return 0
end
local items = call('ZCARD', RING) + call('ZCARD', FRESH)
if items > tonumber(ARGV[4]) then
  return -items
end

-- The first write needs memory: on a full server this fails here, before anything changed.
local from, to = FRESH, RING
if string.match(ARGV[3], 'pace=%d') then
  from, to = RING, FRESH
end
local part = call('ZRANGE', from, 0, 999, 'WITHSCORES')
while part[1] do
  local places, ids = {}, {}
  for k = 1, #part, 2 do
    places[k], places[k + 1] = part[k + 1], part[k]
    ids[#ids + 1] = part[k]
  end
  call('ZADD', to, unpack(places))
  call('ZREM', from, unpack(ids))
  part = call('ZRANGE', from, 0, 999, 'WITHSCORES')
end
call('UNLINK', DUE)
call('HSET', META, 'config', new)
if items > 0 then
  wake_up(ARRIVALS, math.min(items, MANY))
end
return 0

--- @part "len"
-- len: counts the items of the ring.
-- KEYS[…], ARGV[1], ARGV[2] see above
-- Returns the number.
-- needs: FRESH, RING
return call('ZCARD', RING) + call('ZCARD', FRESH)
