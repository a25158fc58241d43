-- needs: BYTES, DELAYED, FRAMES, HEAD, ID, LINE, META, READY, accepted, add_to, apart, die, fits, flags, gone, id_of
-- needs: is_sound, leave_line, parts, size_of
-- gives: any_ahead, drop, holes, pick
--- @include "lib/frames#size"
--- @include "lib/packs"
--- @include "lib/frames#valid"
--- @include "lib/dead_letters"
--- @include "lib/line"
-- The line of a reliable or bounded queue: READY is a list of frames, in the order of their ids,
-- that only pushes add to. A message cancelled there leaves the head of its frame behind, a hole, which
-- is never the first. What has another place is in LINE, its frame in FRAMES:
--   score -1, member id           came back by release or expiry: first of all, by id (L11)
--   score n, member number + id   joined the tail when n messages had been accepted (promoted,
--                                 revived, or with a distinct key): after id n, by number
-- The next up to `max` messages in delivery order, as many as one call may hand out, merged from
-- both places; moves nothing. `ids` are those of `frames`. `fresh` are ids and frames of those that FRAMES does
-- not have. `damaged` are ids and bytes of what is no message and stands among them: `drop` sets it aside.
local holes = 0 -- how many there are in READY
if string.find(flags, 'o', 1, true) then
  holes = tonumber(call('HGET', META, 'holes')) or 0
  if not (holes > 0 and holes < 9007199254740991) then
    holes = 0
  end
end

-- The number of the message with this frame in READY, behind the one with another number; or nil, and the id if
-- that is known.
local function number_of(frame, before)
  local number = #frame >= HEAD and decode('>I7', frame, ID)
  local known = number and number > 0 and number <= accepted
  -- READY is in order, and has what FRAMES has not.
  if known and number <= before and call('HEXISTS', FRAMES, id_of(frame)) == 1 then
    known = false
  end
  if known and #frame > HEAD and byte(frame, 1) == 0 then
    return number
  end
  return nil, known and id_of(frame) or nil
end

-- Makes frames of the packs that READY begins with, until so many messages, or as many as one call may hand out,
-- are frames. Answers the first elements of READY then, which are no packs.
local function open_packs(wanted)
  local heads, from, bytes, opened = {}, 0, 0, false
  local full = 8 -- messages of an element, if packs may come next: a pack of 16 is two
  repeat
    local asked = math.min(CHUNK, math.ceil(wanted / full))
    local elements = call('LRANGE', READY, from, from + asked - 1)
    local k = 1
    while elements[k] and wanted > 0 do
      local own, used = parts(elements[k], elements[k + 1] or call('LINDEX', READY, from + 1))
      opened, full = opened or own, own and 8 or 1
      own = own or { elements[k] }
      for n = 1, #own do
        heads[#heads + 1], bytes = own[n], bytes + #own[n]
        wanted = #own[n] == HEAD and wanted or wanted - 1 -- a hole is no message
      end
      k, from = k + (used or 1), from + (used or 1)
    end
  until #elements < asked or wanted <= 0 or not fits(heads, bytes)
  if opened then
    call('LTRIM', READY, from, '-1')
    -- By steps, since holes among them may be any number.
    for last = #heads, 1, -MANY do
      local back = {}
      for k = last, math.max(last - MANY, 0) + 1, -1 do
        back[#back + 1] = heads[k]
      end
      call('LPUSH', READY, unpack(back))
    end
    add_to('packed', from - #heads)
  end
  return heads
end

local function pick(max)
  local frames, ids, fresh, members, damaged, before = {}, {}, {}, {}, {}, 0
  local listed, raw, at, passed, got = 0, 0, 1, 0, 0
  local heads = parts and open_packs(max) or {}
  local next_head, more = 1, not parts
  local line = call('ZRANGE', LINE, '0', max == 1 and '0' or max - 1, 'WITHSCORES')

  while got + #damaged < max do
    local member = line[at]
    local place, frame = member and tonumber(line[at + 1]), nil
    while place ~= -1 do
      if not heads[next_head] and more then
        local asked = math.min(CHUNK, max - got - #damaged)
        heads, next_head = call('LRANGE', READY, listed == 0 and '0' or listed, listed + asked - 1), 1
        more = #heads == asked
      end
      frame = heads[next_head]
      if not frame or #frame ~= HEAD or holes == 0 then
        break
      end
      -- A hole.
      passed, listed, next_head = passed + 1, listed + 1, next_head + 1
    end
    local number, known
    if frame then
      local first
      if #frame > HEAD then
        first, number = decode('>BI7', frame)
      end
      -- Nearly every one is sound, which is seen at once.
      if first ~= 0 or number <= before or number > accepted then
        number, known = number_of(frame, before)
      end
      if number and place and number > place then
        frame = nil
      end
    end
    local own, found = not frame, frame
    if own then
      if not member then
        break
      end
      known = sub(member, -7)
      frame = call('HGET', FRAMES, known)
      found = frame or ''
      number = frame and is_sound(frame, known)
    end
    if not number then
      -- What is too short for an id was never a message's place.
      if not own or #known == 7 then
        damaged[#damaged + 1] = { known, found }
      end
    else
      raw = raw + (apart and size_of(frame) or #frame)
      got = got + 1
      frames[got] = frame
      if raw > BYTES and not fits(frames, raw) then
        frames[got] = nil
        break
      end
      ids[got] = own and known or id_of(frame)
    end
    if own then
      members[#members + 1] = member
      at = at + 2
    else
      listed, next_head = listed + 1, next_head + 1
      if number then
        before = number
        fresh[#fresh + 1], fresh[#fresh + 2] = ids[got], frame
      end
    end
  end
  return { frames = frames, ids = ids, fresh = fresh, members = members, damaged = damaged, listed = listed,
    passed = passed }
end

-- Takes what was picked out of the line, and the holes that are first then.
local function drop(picked)
  for _, each in ipairs(picked.damaged) do
    die(each[1], each[2], 'd', '')
    gone({ each[1] or '' })
  end
  if picked.listed > 0 then
    call('LTRIM', READY, picked.listed == 1 and '1' or picked.listed, '-1')
  end
  if holes > 0 then
    local passed = picked.passed
    local first
    repeat
      first = 0
      for _, frame in ipairs(call('LRANGE', READY, '0', CHUNK - 1)) do
        if #frame > HEAD then
          break
        end
        first = first + 1
      end
      if first > 0 then
        call('LTRIM', READY, first, '-1')
        passed = passed + first
      end
    until first < CHUNK
    if passed > 0 then
      holes = math.max(add_to('holes', -math.min(passed, holes)), 0)
    end
  end
  if picked.members[1] then
    leave_line(picked.members)
  end
end

-- Whether anything is ready, or will be.
local function any_ahead()
  return call('EXISTS', READY, LINE, DELAYED) > 0
end

--- @part "moves"
-- needs: ARRIVALS, DELAYED, FRAMES, LINE, accepted, add_to, arm
-- gives: give_back, join, promote
--- @include "lib/wake_up"
--- @include "lib/writes#add_to"
-- What moves messages into the line of a reliable or bounded queue.

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
