-- needs: config
-- gives: ADDS, ARRIVALS, BODIES, DUE, FRESH, KEYED, META, NAMED, RING, UPLOADS, meta, pace
--- @include "lib/call"
-- Rotating queues. RING holds ids by the number of their place, BODIES their headers and bodies (see
-- `rotating/apart` for large ones), KEYED key → id and NAMED id → key. With a pace, what was never
-- visited is in FRESH instead of RING, numbered alike, and DUE holds when each of the visited ones
-- is due again: the visited are due in the ring's order, so both heads together give what is due
-- without reading past what is not.
-- UPLOADS is there only in calls that need it. KEYS[9] is the guard.
local META, RING, BODIES, ARRIVALS, KEYED, NAMED, FRESH, DUE, _, UPLOADS = unpack(KEYS)
local ADDS = nil -- its bodies have no frame
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet')
--- @include "lib/config"
local pace = tonumber(string.match(config, 'pace=(%d+)')) -- ms from a visit to the next (T4)

--- @part "reference_of"
-- Large items. A script pays for each byte of each string that it sees, so headers and body of 16 KiB and more
-- are in BODIES under a reference that the producer made up, and what stands there under the id tells the
-- reference (see src/frame.rs). They come and go as those of messages do (see `shared/bodies`).
-- needs: flags
-- gives: reference_of

-- Where the large body is that this stands for; false if this is headers and body. Nil in a ring that never
-- had a large item.
local reference_of = flags ~= '' and function(body)
  return byte(body, 1) == 2 and #body == 21 and sub(body, 6)
end or nil

--- @part "list"
-- list: a page of items from the head on, moving nothing.
-- ARGV[3] number of the last place read, 0 for the first page
-- ARGV[4] how many at most
-- Returns {number to go on after or -1 at the end, id, payload, …}.
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
  -- What is damaged is not shown.
  if body and #id == 7 and not (reference and call('HEXISTS', BODIES, reference) == 0) then
    bodies[#bodies + 1] = body
    raw = raw + (reference and size_of(body) or #body)
    if #bodies > limit or not fits(bodies, raw) then
      -- A page that shows anything ends behind where it began.
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
-- remove: takes items out for good (T2).
-- ARGV[3 …] ids
-- Returns how many were there.
-- needs: ARRIVALS, BODIES, DUE, FRESH, KEYED, NAMED, RING, pace, reference_of
--- @include "rotating/ring#reference_of"
call('ZREM', ARRIVALS, '') -- as in `drainable`
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
-- reconfigure: stores another configuration. With another pace each item is due, in its place.
-- ARGV[3] the configuration
-- ARGV[4] how many items the ring may have
-- Returns 0; or -n if it has n items, which are too many.
-- needs: ARRIVALS, DUE, FRESH, META, RING, arm, config
--- @include "lib/wake_up"
local new = ARGV[3] .. (string.match(config, ' unlisted=%x+$') or '') -- the mark stays, see `config`
if config == new then
  return 0
end
local items = call('ZCARD', RING) + call('ZCARD', FRESH)
if items > tonumber(ARGV[4]) then
  return -items
end
-- The first write wants memory: on a full server this fails here, with nothing changed.
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
  arm(ARRIVALS, math.min(items, MANY))
end
return 0

--- @part "len"
-- len: how many items the ring has.
-- Returns the number.
-- needs: FRESH, RING
return call('ZCARD', RING) + call('ZCARD', FRESH)
