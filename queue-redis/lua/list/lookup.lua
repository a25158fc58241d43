-- Reads the line of a reliable or bounded queue.

--- @part "counts"
-- Counts the line.
-- needs: FRAMES, HEAD, ID, LINE, META, READY, SINCE, frames_in_pack, holes
-- gives: count_ready, oldest_since

-- The number of ready messages in the line.
local function count_ready()
  local listed = math.max(call('LLEN', READY) - holes, 0)
  if listed > 0 then
    listed = math.max(listed + (tonumber(call('HGET', META, 'packed')) or 0), 0)
  end
  return listed + call('ZCARD', LINE)
end

-- The longest time since which the head of either line has been ready; nil if none is.
local function oldest_since()
  local since
  local function older(frame)
    if frame and #frame > HEAD then
      local ready = decode('>I7', frame, SINCE)
      since = since and math.min(since, ready) or ready
    end
  end
  local back = call('ZRANGE', LINE, 0, 0, 'WITHSCORES')
  if back[1] and tonumber(back[2]) == -1 then
    older(call('HGET', FRAMES, back[1]))
  end
  local head = call('LINDEX', READY, 0)
  head = head and frames_in_pack and (frames_in_pack(head, call('LINDEX', READY, 1)) or { head })[1] or head
  local joined = call('ZRANGEBYSCORE', LINE, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if joined[1] and not (head and #head > HEAD and decode('>I7', head, ID) <= tonumber(joined[2])) then
    head = call('HGET', FRAMES, sub(joined[1], -7))
  end
  older(head)
  return since
end

--- @part "lookup"
-- Finds and shows undelivered messages.
-- needs: FRAME, FRAMES, HEAD, ID, LINE, MESSAGES, META, PACK, READY, add_to, flags, frames_in_pack, holes, is_valid
-- needs: place_of, remove_picked, remove_place
-- gives: frame_in_ready, show_ready, withdraw
--- @include "lib/line#place_of"

-- The index in READY of the message with this number; nil if it is not there. Ids mostly grow by one, so
-- interpolation finds most indexes at once.
local function listed_at(number)
  local low, high = 0, call('LLEN', READY) - 1
  -- The first and the last number of an element, and its index. A pack counts by its head.
  local function numbers_at(index)
    local frame = call('LINDEX', READY, index)
    if index > 0 and byte(frame, 1) == MESSAGES then
      index = index - 1
      frame = call('LINDEX', READY, index)
    end
    local first = #frame >= HEAD and byte(frame, 1) ~= MESSAGES and decode('>I7', frame, ID)
    local many = first and byte(frame, 1) == PACK and #frame > HEAD
    return first, many and first + byte(frame, HEAD + 1) - 1 or first, index
  end
  while low <= high do
    local first, _ = numbers_at(low)
    local _, last = numbers_at(high)
    -- A damaged element hides the elements behind it until a lease sets it aside.
    if not first or not last or number < first or number > last then
      return nil
    end
    local index = low + math.floor((number - first) * (high - low) / math.max(last - first, 1))
    local from, to, at = numbers_at(index)
    if not from then
      return nil
    elseif number > to then
      low = index + 1
    elseif number < from then
      high = index - 1
    else
      return at
    end
  end
end

-- The frame of a message in READY; nil if it is not there.
local function frame_in_ready(id)
  local index = listed_at(decode('>I7', id))
  local element = index and call('LINDEX', READY, index)
  local own = element and frames_in_pack and frames_in_pack(element, call('LINDEX', READY, index + 1))
  for _, frame in ipairs(own or { element }) do
    if frame and is_valid(frame, id) then
      return frame
    end
  end
end

-- A pack without its nth message; nil if that was cancelled before, or if the pack is damaged.
local function leave_out(frame, nth)
  local at, length = HEAD + 2, 0
  for _ = 1, nth do
    at = at + length
    local high, low = byte(frame, at, at + 1)
    length = 256 * (high or 0) + (low or 0)
    at = at + 2
  end
  return length > 0 and sub(frame, 1, at - 3) .. pack('>I2', 0) .. sub(frame, at + length) or nil
end

-- Removes an undelivered message from its place. Returns true if the queue had one with this id.
local function withdraw(id)
  local key, member = place_of(id)
  if key then
    remove_place(key, member)
    return true
  elseif call('HEXISTS', FRAMES, id) == 1 then
    return false -- leased or dead
  end
  local number = decode('>I7', id)
  local index = listed_at(number)
  local frame = index and call('LINDEX', READY, index)
  if not frame or #frame == HEAD then
    return false
  end
  local rest, own, used
  if frames_in_pack then
    rest = call('LINDEX', READY, index + 1)
    own, used = frames_in_pack(frame, rest)
  end
  local first = own and decode('>I7', frame, ID) or number
  local others = own and leave_out(used == 2 and frame .. sub(rest, 3) or frame, number - first + 1)
  if own and not others then
    return false
  end
  local left, hole = own and #own > 1, pack(FRAME, 0, first, 0)
  if used == 2 then
    call('LSET', READY, index + 1, left and sub(rest, 1, 2) .. sub(others, HEAD + 2) or hole)
  end
  if used ~= 2 or not left then
    call('LSET', READY, index, left and others or hole)
  end
  if not string.find(flags, 'o', 1, true) then
    flags = flags .. 'o'
    call('HSET', META, 'flags', flags)
  end
  if own then
    add_to('packed', left and -1 or used - 1)
  end
  if left then
    return true
  end
  holes = add_to('holes', used or 1)
  if index == 0 then
    remove_picked({ listed = 0, passed = 0, members = {}, damaged = {} })
  end
  return true
end

-- Passes the ready messages to `take` in delivery order. Begins behind `passed` of READY and `lined` of LINE, and
-- stops if `take` returns false. Returns both numbers for that message; nil at the end. In `passed`, an element
-- counts 256, and a message in it 1. If its pack is gone meanwhile, the page skips as many of the messages that are
-- there now.
local function show_ready(passed, lined, limit, take)
  local line = call('ZRANGE', LINE, lined, lined + limit, 'WITHSCORES')
  local heads, places, next_head, more, at = {}, {}, 1, true, 1
  local read, passes = math.floor(passed / 256), passed % 256
  while true do
    while not heads[next_head] and more do
      local listed = call('LRANGE', READY, read, read + CHUNK - 1)
      heads, places, next_head, more = {}, {}, 1, #listed == CHUNK
      local k = 1
      while listed[k] do
        local own, used
        if frames_in_pack then
          own, used = frames_in_pack(listed[k], listed[k + 1] or call('LINDEX', READY, read + 1))
        end
        for n, frame in ipairs(own or { listed[k] }) do
          if passes > 0 then
            passes = passes - 1
          else
            heads[#heads + 1], places[#places + 1] = frame, read * 256 + n - 1
          end
        end
        k, read = k + (used or 1), read + (used or 1)
      end
    end
    local frame, member = heads[next_head], line[at]
    if not frame and not member then
      return nil
    end
    local number = frame and #frame > HEAD and decode('>I7', frame, ID)
    if frame and not (number and member and number > tonumber(line[at + 1])) then
      if number and byte(frame, 1) == 0 and not take(frame) then
        return places[next_head], lined
      end
      next_head = next_head + 1
    else
      local id = sub(member, -7)
      frame = call('HGET', FRAMES, id)
      if frame and is_valid(frame, id) and not take(frame) then
        return places[next_head] or read * 256, lined
      end
      lined, at = lined + 1, at + 2
    end
  end
end
