-- enqueue: puts messages in, each with its priority.
-- needs: ARRIVALS, FRAME, FRAMES, LINE, META, accepted, add_many, ageing, arm, duplicate_of, mark
-- needs: quiet, read_marks, write_marks
-- gives: act
-- ARGV[3] how many messages
-- ARGV[4] priority + 32768 of each, 2 bytes
-- ARGV[5 …] their payloads
-- ARGV[5 + messages …] dedup marks, see `dedup`
-- Returns the last id if all were accepted, which then have consecutive ids; or an array with the
-- id of each, negative for the first message's id of a duplicate. OOM: nothing was written.
local function act()
  local count, priorities = tonumber(ARGV[3]), ARGV[4]
  read_marks(5 + count)
  local frames, places, ids, new, duplicates = {}, {}, {}, 0, false
  for k = 1, count do
    local first = duplicate_of(k)
    if first then
      ids[k], duplicates = -first, true
    else
      new = new + 1
      local id, biased = pack('>I7', accepted + new), decode('>I2', priorities, 2 * k - 1)
      ids[k] = accepted + new
      frames[2 * new - 1] = id
      frames[2 * new] = pack(FRAME, 0, accepted + new, now, biased, now) .. ARGV[4 + k]
      places[2 * new - 1] = ageing and now - (biased - 32768) * ageing or -2 * (biased - 32768)
      places[2 * new] = id
      mark(k, accepted + new)
    end
  end
  if new > 0 then
    call('HINCRBY', META, 'accepted', new)
    call('HSET', FRAMES, unpack(frames))
    add_many(LINE, places)
    arm(ARRIVALS, new)
  end
  write_marks()
  return duplicates and ids or accepted + new
end

if quiet then
  return act()
end
