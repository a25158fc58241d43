-- A dead letter's record stands in its place in FRAMES: ms of death (7 bytes), why (1 byte: b buried,
-- r retried, e expired, o outdated), length of the reason (2 bytes), reason, frame.
-- needs: DEAD, FRAMES, META, config, forget
-- gives: frame_of, trim, die
local RECORD = '>I7c1I2'

local function frame_of(record)
  local _, _, length, reason = decode(RECORD, record)
  return sub(record, reason + length)
end

-- Drops the oldest beyond the cap (L13), as many as one call may. Answers how many are left to drop.
local function trim()
  local cap = tonumber(string.match(config, 'dead_letter_cap=(%d+)'))
  local excess = call('ZCARD', DEAD) - cap
  if excess <= 0 then
    return 0
  end
  local oldest = call('ZRANGE', DEAD, 0, math.min(excess, MANY) - 1)
  call('HINCRBY', META, 'trimmed', #oldest)
  forget(oldest)
  call('ZREM', DEAD, unpack(oldest))
  return excess - #oldest
end

-- Puts a message among the dead letters, and drops the oldest beyond the cap (L13). The caller takes it
-- out of where it was.
local function die(id, frame, why, reason)
  local died = call('HINCRBY', META, 'died', 1)
  call('ZADD', DEAD, died, id)
  call('HSET', FRAMES, id, pack(RECORD, now, why, #reason) .. reason .. frame)
  trim()
end
