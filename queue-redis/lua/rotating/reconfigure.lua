-- reconfigure: stores another configuration. With another pace each item is due, in its place.
-- needs: ARRIVALS, DUE, FRESH, META, RING, arm, config
-- ARGV[3] the configuration
-- ARGV[4] how many items the ring may have
-- Returns 0; or -n if it has n items, which are too many.
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
