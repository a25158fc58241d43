-- A dead letter is a record in place of the message's frame:
-- - 7 bytes   time of death in ms
-- - 1 byte    cause: b buried, r retried, e expired, o outdated, d damaged
-- - 2 bytes   length of the reason
-- - the rest  reason, frame
--
-- A damaged message becomes a dead letter, too, so it blocks no other message, and is not lost. In place of the frame
-- are the id and the bytes that were found.
-- needs: DEAD, FRAMES, add_to, config, forget, park
-- gives: RECORD, add_dead_letter, trim
--- @include "{kind}/queue#groups"
--- @include "lib/writes#add_to"
--- @include "lib/attachments"
local RECORD = '>I7c1I2'

-- Drops the oldest dead letters above the cap (L13), up to 128. Returns the number that is left to drop.
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

-- Adds a dead letter, and drops the oldest above the cap (L13). The caller removes the message from its place. The
-- cause of a damaged message is d. If its id is unknown, it gets an id that no message has.
local function add_dead_letter(id, frame, why, reason)
  local died = add_to('died', 1)
  id = id or pack('>I7', 9007199254740991 - died)
  call('ZADD', DEAD, died, id)
  call('HSET', FRAMES, id, pack(RECORD, now, why, #reason) .. reason .. (why == 'd' and id or '') .. frame)
  if park and why ~= 'd' then
    park(frame)
  end
  trim()
end

--- @part "read"
-- Records of dead letters.
-- needs: RECORD, is_valid
-- gives: frame_of
--- @include "lib/frames#valid"

-- The frame in a record. If the record is damaged: nil, and a record that says so.
local function frame_of(id, record)
  local died = 0
  if #record >= 10 then
    local time, why, length, reason = decode(RECORD, record)
    local frame = sub(record, reason + length)
    if why ~= 'd' and is_valid(frame, id) then
      return frame
    elseif why == 'd' and #record >= 17 then
      return nil, record
    end
    died = time
  end
  -- No message has the id 0.
  return nil, pack(RECORD, died, 'd', 0) .. (#id == 7 and id or '\0\0\0\0\0\0\0') .. record
end
