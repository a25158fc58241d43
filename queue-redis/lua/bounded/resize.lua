-- resize: changes how many fit; from then on the stored capacity wins (B5). Trims at once, however
-- much that is, since the queue must not be seen longer than it may be (B1).
-- needs: DELAYED, LEASES, META, ROOM, arm, disown, drop, forget, id_of, in_line, pick, tidy
-- ARGV[3] capacity
-- Returns the ids that were dropped: in delivery order, delayed ones last, never what is leased.
tidy()
local capacity = tonumber(ARGV[3])
call('HSET', META, 'capacity', capacity, 'resized', 1)
local occupied = in_line() + call('ZCARD', LEASES) + call('ZCARD', DELAYED)
local dropped = {}

local function take_out(ids)
  disown(ids)
  forget(ids)
  for k = 1, #ids do
    dropped[#dropped + 1] = (decode('>I7', ids[k]))
  end
  occupied = occupied - #ids
end

while occupied > capacity do
  local picked = pick(math.min(MANY, occupied - capacity))
  local ids = {}
  for k = 1, #picked.frames do
    ids[k] = id_of(picked.frames[k])
  end
  drop(picked)
  if not ids[1] then
    ids = call('ZRANGE', DELAYED, 0, math.min(MANY, occupied - capacity) - 1)
    if not ids[1] then
      break
    end
    call('ZREM', DELAYED, unpack(ids))
  end
  take_out(ids)
end
if dropped[1] then
  call('HINCRBY', META, 'evicted', #dropped)
end
if occupied < capacity then
  arm(ROOM, math.min(MANY, capacity - occupied))
end
return dropped
