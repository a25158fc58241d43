-- Reading messages whose place in LINE is a member that ends in the id.
-- needs: FRAMES, apart, die, end_ties, fits, is_sound, leave_line, size_of
-- gives: read_frames, drop

-- The frames of these members and their ids, in their order, as many as one call may hand out. `damaged` are ids
-- and bytes of what is no message and stands among them: `drop` sets it aside.
local function read_frames(places)
  local frames, ids, members, damaged, raw = {}, {}, {}, {}, 0
  for first = 1, #places, CHUNK do
    local asked = {}
    for k = first, math.min(first + CHUNK - 1, #places) do
      asked[#asked + 1] = sub(places[k], -7)
    end
    local read = call('HMGET', FRAMES, unpack(asked))
    for k = 1, #asked do
      local frame, id = read[k], asked[k]
      if frame and is_sound(frame, id) then
        local got = #frames + 1
        frames[got], ids[got] = frame, id
        raw = raw + (apart and size_of(frame) or #frame)
        if not fits(frames, raw) then
          frames[got], ids[got] = nil, nil
          return { frames = frames, ids = ids, fresh = {}, members = members, damaged = damaged }
        end
      elseif #id == 7 then
        damaged[#damaged + 1] = { id, frame or '' }
      end
      members[#members + 1] = places[first + k - 1]
    end
  end
  return { frames = frames, ids = ids, fresh = {}, members = members, damaged = damaged }
end

-- Takes what was picked out of the line.
local function drop(picked)
  for _, each in ipairs(picked.damaged) do
    die(each[1], each[2], 'd', '')
    end_ties({ each[1] })
  end
  if picked.members[1] then
    leave_line(picked.members)
  end
end
