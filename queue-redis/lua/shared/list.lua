-- The line of a reliable or bounded queue: READY is a list of frames, in the order of their ids,
-- that only pushes add to. A message cancelled there leaves the head of its frame behind, a hole, which
-- is never the first. What has another place is in LINE, its frame in FRAMES:
--   score -1, member id           came back by release or expiry: first of all, by id (L11)
--   score n, member number + id   joined the tail when n messages had been accepted (promoted,
--                                 revived, or with a distinct key): after id n, by number
-- The next up to `max` messages in delivery order, as many as one call may hand out, merged from
-- both places; moves nothing. `fresh` are ids and frames of those that FRAMES does not have.
-- needs: BYTES, DELAYED, FRAMES, HEAD, ID, LINE, META, READY, apart, fits, flags, id_of, leave_line
-- needs: size_of
-- gives: holes, pick, drop, any_ahead
local holes = 0 -- how many there are in READY
if string.find(flags, 'o', 1, true) then
  holes = tonumber(call('HGET', META, 'holes'))
end

local function pick(max)
  local frames, fresh, members = {}, {}, {}
  local listed, raw, at, passed = 0, 0, 1, 0
  local heads, next_head, more = {}, 1, true
  local last = max == 1 and '0' or max - 1
  local line = call('ZRANGE', LINE, '0', last, 'WITHSCORES')
  -- Mostly there is nothing to merge, and no hole.
  while not line[1] and holes == 0 and listed < max do
    local wanted = math.min(CHUNK, max - listed)
    if wanted == max then
      heads = call('LRANGE', READY, '0', last)
    else
      heads = call('LRANGE', READY, listed, listed + wanted - 1)
    end
    for k = 1, #heads do
      local frame = heads[k]
      raw = raw + (apart and size_of(frame) or #frame)
      frames[listed + 1] = frame
      if raw > BYTES and not fits(frames, raw) then
        frames[listed + 1] = nil
        return { frames = frames, fresh = fresh, members = members, listed = listed, passed = 0 }
      end
      listed = listed + 1
      fresh[2 * listed - 1], fresh[2 * listed] = id_of(frame), frame
    end
    if #heads < wanted then
      break
    end
  end
  while (line[1] or holes > 0) and #frames < max do
    local member, place, frame = line[at], nil, nil
    if member then
      place = tonumber(line[at + 1])
    end
    if place ~= -1 then
      repeat
        if not heads[next_head] and more then
          local wanted = math.min(CHUNK, max - #frames)
          heads, next_head = call('LRANGE', READY, listed, listed + wanted - 1), 1
          more = #heads == wanted
        end
        frame = heads[next_head]
        local hole = frame and #frame == HEAD
        if hole then
          listed, next_head, passed = listed + 1, next_head + 1, passed + 1
        end
      until not hole
      if frame and place and decode('>I7', frame, ID) > place then
        frame = nil
      end
    end
    if not frame and not member then
      break
    end
    local own = not frame
    if own then
      frame = call('HGET', FRAMES, sub(member, -7))
    end
    -- A place without a message is a leftover of foreign hands: it is passed over, and dropped.
    if frame then
      frames[#frames + 1] = frame
      raw = raw + (apart and size_of(frame) or #frame)
      if not fits(frames, raw) then
        frames[#frames] = nil
        break
      end
    end
    if own then
      members[#members + 1] = member
      at = at + 2
    else
      listed, next_head = listed + 1, next_head + 1
      fresh[#fresh + 1] = id_of(frame)
      fresh[#fresh + 1] = frame
    end
  end
  return { frames = frames, fresh = fresh, members = members, listed = listed, passed = passed }
end

-- Takes what was picked out of the line, and the holes that are first then.
local function drop(picked)
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
      holes = call('HINCRBY', META, 'holes', -passed)
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
