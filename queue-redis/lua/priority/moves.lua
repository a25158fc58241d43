-- What moves messages into the line of a priority queue.
-- needs: ARRIVALS, DELAYED, FRAME, FRAMES, LINE, accepted, add_to, ageing, arm, die, gone, is_sound
-- gives: give_back, join, promote

local function urgency_of(frame)
  local _, _, _, biased = decode(FRAME, frame)
  return biased - 32768
end

local function aged_score(frame)
  local _, _, _, _, arrival = decode(FRAME, frame)
  return arrival - urgency_of(frame) * ageing
end

local function give_back(back, id, frame)
  back[#back + 1] = ageing and aged_score(frame) or -2 * urgency_of(frame) - 1
  back[#back + 1] = id
end

-- Puts these at the tail of their priorities, in this order.
local function join(ids, frames)
  local number = add_to('joins', #ids) - #ids
  local last = pack('>I7', accepted)
  local places, kept = {}, {}
  for k = 1, #ids do
    local before = ageing and '' or last .. pack('>I7', number + k)
    places[2 * k - 1] = ageing and aged_score(frames[k]) or -2 * urgency_of(frames[k])
    places[2 * k] = before .. ids[k]
    kept[2 * k - 1], kept[2 * k] = 'p' .. ids[k], before
  end
  if not ageing then
    call('HSET', FRAMES, unpack(kept))
  end
  call('ZADD', LINE, unpack(places))
  arm(ARRIVALS, #ids)
end

local function promote()
  local due = call('ZRANGEBYSCORE', DELAYED, '-inf', now_text, 'LIMIT', 0, MANY)
  for first = 1, #due, CHUNK do
    local ids, frames = {}, {}
    local chunk = { unpack(due, first, math.min(first + CHUNK - 1, #due)) }
    local read = call('HMGET', FRAMES, unpack(chunk))
    for k = 1, #chunk do
      if read[k] and is_sound(read[k], chunk[k]) then
        ids[#ids + 1], frames[#frames + 1] = chunk[k], read[k]
      elseif #chunk[k] == 7 then
        die(chunk[k], read[k] or '', 'd', '')
        gone({ chunk[k] })
      end
    end
    if ids[1] then
      join(ids, frames)
    end
  end
  if due[1] then
    call('ZREM', DELAYED, unpack(due))
  end
end
