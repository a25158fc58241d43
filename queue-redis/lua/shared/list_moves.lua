-- What moves messages into the line of a reliable or bounded queue.
-- needs: ARRIVALS, DELAYED, FRAMES, LINE, accepted, add_to, arm
-- gives: give_back, join, promote

local function give_back(back, id)
  back[#back + 1] = -1
  back[#back + 1] = id
end

-- Puts these at the tail, in this order.
local function join(ids)
  local number = add_to('joins', #ids) - #ids
  local places, kept = {}, {}
  for k = 1, #ids do
    local before = pack('>I7', number + k)
    places[2 * k - 1], places[2 * k] = accepted, before .. ids[k]
    kept[2 * k - 1], kept[2 * k] = 'p' .. ids[k], before
  end
  call('HSET', FRAMES, unpack(kept))
  call('ZADD', LINE, unpack(places))
  arm(ARRIVALS, #ids)
end

local function promote()
  local due = call('ZRANGEBYSCORE', DELAYED, '-inf', now_text, 'LIMIT', 0, MANY)
  if due[1] then
    join(due)
    call('ZREM', DELAYED, unpack(due))
  end
end
