-- reconfigure: stores another configuration. With another pace each item is due, in its place.
-- needs: ARRIVALS, DUE, FRESH, META, RING, arm
-- ARGV[3] the configuration
-- ARGV[4] how many items the ring may have
-- Returns 0; or -n if it has n items, which are too many.
if ARGV[2] == ARGV[3] then
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
call('ZUNIONSTORE', to, 2, RING, FRESH)
call('DEL', from, DUE)
call('HSET', META, 'config', ARGV[3])
if items > 0 then
  arm(ARRIVALS, math.min(items, MANY))
end
return 0
