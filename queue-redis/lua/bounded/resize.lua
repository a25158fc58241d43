-- resize: changes how many fit; from then on the stored capacity wins, and the queue does not grow beyond it.
-- What is too many goes by steps (B5).
-- needs: DELAYED, LEASES, META, ROOM, arm, in_line, shorten, tidy
-- ARGV[3] capacity; '' for another step of the last resize, whoever made it
-- Returns the ids that this step dropped: in delivery order, delayed ones last, never what is leased. As many as
-- one call may means that there may be more.
if ARGV[3] ~= '' then
  tidy()
end
local occupied = in_line() + call('ZCARD', LEASES) + call('ZCARD', DELAYED)
if ARGV[3] ~= '' then
  local capacity = tonumber(ARGV[3])
  call('HSET', META, 'capacity', capacity, 'resized', 1, 'surplus', math.max(occupied - capacity, 0))
  if occupied < capacity then
    arm(ROOM, math.min(MANY, capacity - occupied))
  end
end
return shorten(occupied)
