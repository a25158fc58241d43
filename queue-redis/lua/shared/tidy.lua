-- What every verb does first (L7): takes back up to 128 expired leases by (deadline, id), then
-- promotes up to 128 delayed messages by (due, id), then ends up to 128 outdated ones by (end, id). Answers
-- whether there may be more of any.
-- needs: ARRIVALS, FRAMES, LEASES, LINE, META, arm, attempts_of, config, die, end_leases, give_back
-- needs: gone, limited, outdate, outdated_left, promote, reframe, wait_on
-- gives: tidy
local function reclaim()
  local expired = call('ZRANGEBYSCORE', LEASES, '-inf', now_text, 'WITHSCORES', 'LIMIT', 0, MANY)
  if not expired[1] then
    return false
  end
  local count = #expired / 2
  -- The first write wants memory: on a full server a push fails here, with nothing changed.
  call('HINCRBY', META, 'expired', count)
  local max_attempts = tonumber(string.match(config, 'max_attempts=(%d+)'))
  local members, dead = {}, {}
  for first = 1, count, CHUNK do
    local last = math.min(first + CHUNK - 1, count)
    local ids = {}
    for k = first, last do
      members[k] = expired[2 * k - 1]
      ids[#ids + 1] = sub(members[k], 1, 7)
    end
    local frames = call('HMGET', FRAMES, unpack(ids))
    local back, kept, waiting = {}, {}, {}
    for k = 1, #ids do
      local id, frame = ids[k], frames[k]
      -- A lease without a message is a leftover of foreign hands: it is dropped.
      if frame then
        local attempts = attempts_of(frame) + 1
        frame = reframe(frame, attempts)
        if attempts >= max_attempts then
          die(id, frame, 'e', '')
          dead[#dead + 1] = id
        else
          kept[#kept + 1] = id
          kept[#kept + 1] = frame
          waiting[#waiting + 1] = id
          give_back(back, id, frame, tonumber(expired[2 * (first + k - 1)]))
        end
      end
    end
    if back[1] then
      call('HSET', FRAMES, unpack(kept))
      call('ZADD', LINE, unpack(back))
      wait_on(waiting)
      arm(ARRIVALS, #back / 2)
    end
  end
  if dead[1] then
    gone(dead)
  end
  end_leases(members)
  return count == MANY
end

local function tidy()
  local expired_left = reclaim()
  local due_left = promote()
  if limited then
    outdate()
  end
  return expired_left or due_left or outdated_left
end
