-- What moves messages into the line of a reliable or bounded queue.
-- needs: ARRIVALS, DELAYED, LINE, META, accepted, arm, placed
-- gives: give_back, join, promote

local function give_back(back, id)
  back[#back + 1] = -1
  back[#back + 1] = id
end

-- Puts these at the tail, in this order.
local function join(ids)
  local number = call('HINCRBY', META, 'joins', #ids) - #ids
  local places = {}
  for k = 1, #ids do
    places[2 * k - 1] = accepted
    places[2 * k] = pack('>I7', number + k) .. ids[k]
  end
  placed(ids, number)
  call('ZADD', LINE, unpack(places))
  arm(ARRIVALS, #ids)
end

local function promote()
  local due = call('ZRANGEBYSCORE', DELAYED, '-inf', now_text, 'LIMIT', 0, MANY)
  if not due[1] then
    return false
  end
  join(due)
  call('ZREM', DELAYED, unpack(due))
  return #due == MANY
end
