-- Settling in another way than by ack.

-- Leaves it out of the line until it is due. An earlier first due time is told to those who sleep
-- towards a later one.
local function put_off(id, frame, due)
  call('HSET', FRAMES, id, frame)
  call('ZADD', DELAYED, due, id)
  if call('ZRANGE', DELAYED, 0, 0)[1] == id then
    call('ZADD', ARRIVALS, '0', 'armed')
  end
  return due <= now
end

-- Ends one live lease in another way than by ack; the caller removes the lease.
local function settle_one(settlement, id)
  local what = sub(settlement, 1, 1)
  local frame = call('HGET', FRAMES, id)
  if not frame then
    return 'l', false
  end
  local attempts = attempts_of(frame)
  if what == 'l' then
    local back = {}
    give_back(back, id, frame, now)
    call('HINCRBY', META, 'released', 1)
    call('ZADD', LINE, unpack(back))
    call('ZADD', ARRIVALS, '0', 'armed')
    return 'd', false
  elseif what == 'd' then
    local due = now + decode('>I7', settlement, 16)
    call('HINCRBY', META, 'deferred', 1)
    return 'd', put_off(id, reframe(frame, attempts, due), due)
  elseif what == 'r' and attempts + 1 < tonumber(string.match(ARGV[2], 'max_attempts=(%d+)')) then
    local due = now + decode('>I7', settlement, 16)
    call('HINCRBY', META, 'retried', 1)
    return 'd', put_off(id, reframe(frame, attempts + 1, due, rearrived(frame, due)), due)
  elseif what == 'r' then
    die(id, reframe(frame, attempts + 1), 'r', '')
  else
    die(id, reframe(frame, attempts + 1), 'b', sub(settlement, 16))
  end
  gone({ id })
  return 'x', false
end
