-- Reading messages whose place in LINE is a member that ends in the id.
-- needs: FRAMES, apart, fits, leave_line, size_of
-- gives: read_frames, drop

-- The frames of these members, in their order, as many as one call may hand out.
local function read_frames(places)
  local frames, members, raw = {}, {}, 0
  for first = 1, #places, CHUNK do
    local ids = {}
    for k = first, math.min(first + CHUNK - 1, #places) do
      ids[#ids + 1] = sub(places[k], -7)
    end
    local read = call('HMGET', FRAMES, unpack(ids))
    for k = 1, #ids do
      local frame = read[k]
      -- A place without a message is a leftover of foreign hands: it is passed over, and dropped.
      if frame then
        frames[#frames + 1] = frame
        raw = raw + (apart and size_of(frame) or #frame)
        if not fits(frames, raw) then
          frames[#frames] = nil
          return { frames = frames, fresh = {}, members = members }
        end
      end
      members[#members + 1] = places[first + k - 1]
    end
  end
  return { frames = frames, fresh = {}, members = members }
end

local function drop(picked)
  if picked.members[1] then
    leave_line(picked.members)
  end
end
