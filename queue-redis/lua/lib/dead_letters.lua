-- needs: DEAD, FRAMES, add_to, config, forget
-- gives: RECORD, die, trim
--- @include "lib/writes#add_to"
--- @include "lib/attachments"
-- A dead letter's record stands in its place in FRAMES: ms of death (7 bytes), why (1 byte: b buried,
-- r retried, e expired, o outdated), length of the reason (2 bytes), reason, frame. What is damaged stands
-- there too, so that it blocks nothing and nobody loses it: why is d, and in place of the frame are the id and
-- the bytes that were found.
local RECORD = '>I7c1I2'

-- Drops the oldest beyond the cap (L13), as many as one call may. Answers how many are left to drop.
local function trim()
  local cap = tonumber(string.match(config, 'dead_letter_cap=(%d+)'))
  local excess = call('ZCARD', DEAD) - cap
  if excess <= 0 then
    return 0
  end
  local oldest = call('ZRANGE', DEAD, 0, math.min(excess, MANY) - 1)
  add_to('trimmed', #oldest)
  forget(oldest)
  call('ZREM', DEAD, unpack(oldest))
  return excess - #oldest
end

-- Puts a message among the dead letters, and drops the oldest beyond the cap (L13). The caller takes it
-- out of where it was. What cannot be a message dies by d, as it was found; if its id is not known it gets one
-- that no message has.
local function die(id, frame, why, reason)
  local died = add_to('died', 1)
  id = id or pack('>I7', 9007199254740991 - died)
  call('ZADD', DEAD, died, id)
  call('HSET', FRAMES, id, pack(RECORD, now, why, #reason) .. reason .. (why == 'd' and id or '') .. frame)
  trim()
end

--- @part "frame_of"
-- needs: RECORD, is_sound
-- gives: frame_of
--- @include "lib/frames#valid"
-- Reading dead letters' records, see `graves`.

-- The frame of a record. Or nil, if that is damaged, and a record that says so.
local function frame_of(id, record)
  local died = 0
  if #record >= 10 then
    local time, why, length, reason = decode(RECORD, record)
    local frame = sub(record, reason + length)
    if why ~= 'd' and is_sound(frame, id) then
      return frame
    elseif why == 'd' and #record >= 17 then
      return nil, record
    end
    died = time
  end
  -- No message has the id 0.
  return nil, pack(RECORD, died, 'd', 0) .. (#id == 7 and id or '\0\0\0\0\0\0\0') .. record
end
