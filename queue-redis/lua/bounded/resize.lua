-- resize: changes how many fit; from then on the stored capacity wins, and the queue does not grow beyond it.
-- What is too many goes by steps (B5).
-- needs: DELAYED, LEASES, META, ROOM, arm, config, in_line, shorten, tidy, trim
-- ARGV[3] capacity; '' for another step of the last resize, whoever made it
-- ARGV[4] for a reconfigure: the configuration to store with it. A capacity that is stored already stays as it is.
-- For an open '', see `bounded/same`
-- Returns the ids that this step dropped: in delivery order, delayed ones last, never what is leased. As many as
-- one call may means that there may be more. For a reconfigure, how many dead letters are left to trim comes first.
local capacity = tonumber(ARGV[3])
if capacity then
  tidy()
end
local left = nil
if ARGV[4] and ARGV[4] ~= '' then
  config = ARGV[4] .. (string.match(config, ' unlisted=%x+$') or '') -- the mark stays, see `config`
  call('HSET', META, 'config', config)
  left = trim()
  if tonumber(call('HGET', META, 'capacity')) == capacity then
    return { left }
  end
end
local uncounted = tonumber(call('HGET', META, 'uncounted')) or 0 -- leased messages, see `runs`
local occupied = in_line() + call('ZCARD', LEASES) + uncounted + call('ZCARD', DELAYED)
if capacity then
  call('HSET', META, 'capacity', capacity, 'resized', 1, 'surplus', math.max(occupied - capacity, 0))
  if occupied < capacity then
    arm(ROOM, math.min(MANY, capacity - occupied))
  end
end
local dropped = shorten(occupied)
if left then
  table.insert(dropped, 1, left)
end
return dropped
