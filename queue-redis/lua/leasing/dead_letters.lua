-- Dead letters.
--- @include "lib/call"
--- @include "{kind}/queue"

--- @part "dead_letters"
-- dead_letters: a page of dead letters, in the order of dying (L13).
-- ARGV[3] number of the last death read, 0 for the first page
-- ARGV[4] how many at most
-- Returns {number to go on after or -1 at the end, record …}; records as in `graves`.
-- needs: DEAD, FRAMES, apart, fits, frame_of, size_of, tidy, writable
--- @include "lib/call#read_only"
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  --- @include "lib/dead_letters#frame_of"
  if writable then
    tidy()
  end
  local LAST = '9007199254740991' -- a damaged number above would begin the same page again
  local limit = tonumber(ARGV[4])
  local dead = call('ZRANGEBYSCORE', DEAD, '(' .. ARGV[3], LAST, 'WITHSCORES', 'LIMIT', 0, limit + 1)
  local reply, frames, raw, last = { -1 }, {}, 0, -1
  for k = 1, #dead, 2 do
    local record = call('HGET', FRAMES, dead[k]) or ''
    -- The reason does not count towards the bytes.
    local frame, instead = frame_of(dead[k], record)
    frames[#frames + 1] = frame or instead
    raw = raw + (frame and apart and size_of(frame) or #frames[#frames])
    if #frames > limit or not fits(frames, raw) then
      -- A page that shows anything ends behind where it began.
      reply[1] = math.max(math.floor(last), ARGV[3] + 1)
      break
    end
    reply[#reply + 1] = instead or record
    last = tonumber(dead[k + 1])
  end
  return reply
end
return slow_path()

--- @part "revive"
-- revive: puts dead letters back at the tail, attempts anew (L13).
-- ARGV[3 …] ids
-- Returns one letter each: r revived, n not found or damaged, f full.
-- needs: ARRIVALS, DEAD, DELAYED, FRAMES, LEASES, META, add_to, frame_of, in_line, join, reframe, tidy
-- gives: meta
call('ZREM', ARRIVALS, '')
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet', 'token', 'acked')
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  --- @include "lib/dead_letters#frame_of"
  --- @include "{kind}/queue#counts"
  tidy()
  local fixed = call('HMGET', META, 'capacity', 'uncounted')
  local capacity = tonumber(fixed[1]) or math.huge
  local occupied = in_line() + call('ZCARD', LEASES) + (tonumber(fixed[2]) or 0) + call('ZCARD', DELAYED)
  local answers, revived = {}, 0
  for k = 3, #ARGV do
    local id = ARGV[k]
    local record = call('ZSCORE', DEAD, id) and call('HGET', FRAMES, id)
    local frame = record and frame_of(id, record)
    if not frame then
      answers[k - 2] = 'n'
    elseif occupied >= capacity then
      answers[k - 2] = 'f'
    else
      frame = reframe(frame, 0, now, now, '')
      call('HSET', FRAMES, id, frame)
      join({ id }, { frame })
      call('ZREM', DEAD, id)
      occupied, revived = occupied + 1, revived + 1
      answers[k - 2] = 'r'
    end
  end
  if revived > 0 then
    add_to('revived', revived)
  end
  return table.concat(answers)
end
return slow_path()

--- @part "discard"
-- discard: removes dead letters for good.
-- ARGV[3 …] ids
-- Returns how many there were.
-- needs: ARRIVALS, DEAD, META, add_to, forget, tidy
-- gives: meta
call('ZREM', ARRIVALS, '')
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet', 'token', 'acked')
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  tidy()
  local ids = {}
  for k = 3, #ARGV do
    if call('ZREM', DEAD, ARGV[k]) == 1 then
      ids[#ids + 1] = ARGV[k]
    end
  end
  if ids[1] then
    forget(ids)
    add_to('discarded', #ids)
  end
  return #ids
end
return slow_path()
