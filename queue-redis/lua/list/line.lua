-- The line of a reliable or bounded queue. READY is a list of frames, in the order of their ids; only pushes add to
-- it. A message that is cancelled there leaves the head of its frame, a hole. The first element is never a hole.
-- Messages with another place are in LINE, with their frames in FRAMES:
-- - score -1, member id           came back by release or expiry: first of all, by id (L11)
-- - score n, member number + id   joined the tail when n messages had been accepted (promoted, revived, or with a
--                                 distinct key): after id n, by number
--
-- `pick` merges both places. It returns up to `max` next messages in delivery order, as many as fit into one reply,
-- and moves nothing:
-- - frames, ids   the messages
-- - fresh         ids and frames that FRAMES does not have
-- - damaged       ids and bytes of damaged messages among them; `remove_picked` sets these aside
-- needs: BYTES, DELAYED, FRAMES, HEAD, ID, LINE, META, READY, accepted, add_dead_letter, add_to, fits, flags
-- needs: frames_in_pack, free, has_large, id_of, is_valid, remove_from_line, size_of
-- gives: any_left, holes, pick, remove_picked
--- @include "lib/frames#size"
--- @include "lib/packs"
--- @include "lib/frames#valid"
--- @include "lib/dead_letters"
--- @include "lib/line"
local holes = 0 -- number of holes in READY
if string.find(flags, 'o', 1, true) then
  holes = tonumber(call('HGET', META, 'holes')) or 0
  if not (holes > 0 and holes < 9007199254740991) then
    holes = 0
  end
end

-- The number of the message with this frame in READY. It must be above `before`. If the frame is damaged: nil, and
-- its id if that is known.
local function number_of(frame, before)
  local number = #frame >= HEAD and decode('>I7', frame, ID)
  local known = number and number > 0 and number <= accepted
  -- READY is in order, and has no frame that is in FRAMES.
  if known and number <= before and call('HEXISTS', FRAMES, id_of(frame)) == 1 then
    known = false
  end
  if known and #frame > HEAD and byte(frame, 1) == 0 then
    return number
  end
  return nil, known and id_of(frame) or nil
end

-- Turns the first packs of READY into frames, for `wanted` messages at least or one full reply. Returns the first
-- elements of READY, which are no packs now.
local function open_packs(wanted)
  local heads, from, bytes, opened = {}, 0, 0, false
  local full = 8 -- messages of an element, if packs may come next: a pack of 16 is two elements
  repeat
    local asked = math.min(CHUNK, math.ceil(wanted / full))
    local elements = call('LRANGE', READY, from, from + asked - 1)
    local k = 1
    while elements[k] and wanted > 0 do
      local own, used = frames_in_pack(elements[k], elements[k + 1] or call('LINDEX', READY, from + 1))
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
    -- In steps, because there may be any number of holes among them.
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

-- The next messages, see above.
local function pick(max)
  local frames, ids, fresh, members, damaged, before = {}, {}, {}, {}, {}, 0
  local listed, raw, at, passed, got = 0, 0, 1, 0, 0
  local heads = frames_in_pack and open_packs(max) or {}
  local next_head, more = 1, not frames_in_pack
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
      -- Nearly every frame passes this quick check.
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
      number = frame and is_valid(frame, known)
    end
    if not number then
      -- A member that is too short for an id was never a place.
      if not own or #known == 7 then
        damaged[#damaged + 1] = { known, found }
      end
    else
      raw = raw + (has_large and size_of(frame) or #frame)
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

-- Removes the picked messages from the line, and the holes that are first then.
local function remove_picked(picked)
  for _, each in ipairs(picked.damaged) do
    add_dead_letter(each[1], each[2], 'd', '')
    free({ each[1] or '' })
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
    remove_from_line(picked.members)
  end
end

-- Whether messages are ready, or will be.
local function any_left()
  return call('EXISTS', READY, LINE, DELAYED) > 0
end

--- @part "moves"
-- Moves messages into the line of a reliable or bounded queue.
-- needs: ARRIVALS, DELAYED, FRAMES, LINE, accepted, add_to, wake_up
-- gives: give_back, join_tail, promote_due
--- @include "lib/wake_up"
--- @include "lib/writes#add_to"

-- Adds the score and the member of a returned message to `back`.
local function give_back(back, id)
  back[#back + 1] = -1
  back[#back + 1] = id
end

-- Puts messages at the tail, in this order.
local function join_tail(ids)
  local number = add_to('joins', #ids) - #ids
  local places, kept = {}, {}
  for k = 1, #ids do
    local before = pack('>I7', number + k)
    places[2 * k - 1], places[2 * k] = accepted, before .. ids[k]
    kept[2 * k - 1], kept[2 * k] = 'p' .. ids[k], before
  end
  call('HSET', FRAMES, unpack(kept))
  call('ZADD', LINE, unpack(places))
  wake_up(ARRIVALS, #ids)
end

-- Moves due messages to the tail.
local function promote_due()
  local found, due = call('ZRANGEBYSCORE', DELAYED, '-inf', now_text, 'LIMIT', 0, MANY), {}
  for k = 1, #found do
    -- A member that is no id is dropped: behind a place's number, it could look like another message's id.
    if #found[k] == 7 then
      due[#due + 1] = found[k]
    end
  end
  if due[1] then
    join_tail(due)
  end
  if found[1] then
    call('ZREM', DELAYED, unpack(found))
  end
end
