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
  local over, due = call('ZRANGEBYSCORE', DELAYED, '-inf', now_text, 'LIMIT', 0, MANY), {}
  for k = 1, #over do
    -- Behind the number of a place, what is no id could look like another message's.
    if #over[k] == 7 then
      due[#due + 1] = over[k]
    end
  end
  if due[1] then
    join(due)
  end
  if over[1] then
    call('ZREM', DELAYED, unpack(over))
  end
end
