-- push: puts messages at the tail.
-- needs: ARRIVALS, FRAME, META, READY, accepted, arm, duplicate_of, mark, quiet, read_marks
-- needs: write_marks
-- gives: act
-- ARGV[3] how many messages
-- ARGV[4 …] their payloads
-- ARGV[4 + messages …] dedup marks, see `dedup`
-- Returns the last id if all were accepted, which then have consecutive ids; or an array with the
-- id of each, negative for the first message's id of a duplicate. OOM: nothing was written.
local function act()
  local count = tonumber(ARGV[3])
  read_marks(4 + count)
  local frames, ids, duplicates = {}, {}, false
  for k = 1, count do
    local first = duplicate_of(k)
    if first then
      ids[k], duplicates = -first, true
    else
      local id = accepted + #frames + 1
      ids[k] = id
      frames[#frames + 1] = pack(FRAME, 0, id, now) .. ARGV[3 + k]
      mark(k, id)
    end
  end
  if frames[1] then
    call('HINCRBY', META, 'accepted', #frames)
    call('RPUSH', READY, unpack(frames))
    arm(ARRIVALS, #frames)
  end
  write_marks()
  return duplicates and ids or accepted + #frames
end

if quiet then
  return act()
end
