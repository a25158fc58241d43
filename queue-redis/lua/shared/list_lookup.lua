-- Finding and showing the undelivered messages of a reliable or bounded queue.
-- needs: FRAME, FRAMES, HEAD, ID, LINE, META, READY, add_to, drop, flags, holes, is_sound, leave, place_of
-- gives: withdraw, show_ready, delayed_from

-- Where in READY the message with this number is, nil if it is not there. The ids grow, mostly by one, so
-- a guess by the distance is mostly right.
local function listed_at(number)
  local low, high = 0, call('LLEN', READY) - 1
  local function number_at(index)
    local frame = call('LINDEX', READY, index)
    return #frame >= HEAD and decode('>I7', frame, ID)
  end
  while low <= high do
    local first, last = number_at(low), number_at(high)
    -- Something damaged hides what stands behind it, and a lease sets it aside.
    if not first or not last or number < first or number > last then
      return nil
    end
    local index = low + math.floor((number - first) * (high - low) / math.max(last - first, 1))
    local found = number_at(index)
    if not found then
      return nil
    elseif found == number then
      return index
    elseif found < number then
      low = index + 1
    else
      high = index - 1
    end
  end
end

-- Takes an undelivered message out of its place. Answers whether there was one with this id.
local function withdraw(id)
  local key, member = place_of(id)
  if key then
    leave(key, member)
  elseif call('HEXISTS', FRAMES, id) == 1 then
    return false -- leased or dead
  else
    local number = decode('>I7', id)
    local index = listed_at(number)
    if not index or #call('LINDEX', READY, index) == HEAD then
      return false
    end
    call('LSET', READY, index, pack(FRAME, 0, number, 0))
    if not string.find(flags, 'o', 1, true) then
      flags = flags .. 'o'
      call('HSET', META, 'flags', flags)
    end
    holes = add_to('holes', 1)
    if index == 0 then
      drop({ listed = 0, passed = 0, members = {}, damaged = {} })
    end
  end
  return true
end

-- Gives `take` the ready messages in delivery order, behind so many of READY and of LINE, until it has
-- enough. Answers where that was, nil at the end.
local function show_ready(listed, lined, limit, take)
  local line = call('ZRANGE', LINE, lined, lined + limit, 'WITHSCORES')
  local heads, next_head, more, at = {}, 1, true, 1
  while true do
    if not heads[next_head] and more then
      heads, next_head = call('LRANGE', READY, listed, listed + CHUNK - 1), 1
      more = #heads == CHUNK
    end
    local frame, member = heads[next_head], line[at]
    if not frame and not member then
      return nil
    end
    local number = frame and #frame > HEAD and decode('>I7', frame, ID)
    if frame and not (number and member and number > tonumber(line[at + 1])) then
      if number and byte(frame, 1) == 0 and not take(frame) then
        return listed, lined
      end
      listed, next_head = listed + 1, next_head + 1
    else
      local id = sub(member, -7)
      frame = call('HGET', FRAMES, id)
      if frame and is_sound(frame, id) and not take(frame) then
        return listed, lined
      end
      lined, at = lined + 1, at + 2
    end
  end
end

-- The first of DELAYED that is not ready, by rank.
local function delayed_from()
  return 0
end
