-- Dead letters: `dead_letters` shows them, `revive` puts them back, and `discard` removes them.
--- @include "lib/call"
--- @include "{kind}/queue"

--- @part "dead_letters"
-- dead_letters: shows a page of dead letters, in the order of their deaths (L13).
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] after: the number of the last death that was shown, 0 for the first page
-- ARGV[4] limit: the number of dead letters at most
-- Returns {number to continue after, or -1 at the end, record …}; `lib/dead_letters` describes a record.
-- needs: DEAD, FRAMES, fits, frame_of, has_large, reclaim, size_of, writable
--- @include "lib/call#read_only"
--- @include "lib/config#state"

local function dead_letters()
  --- @include "lib/reclaim"
  --- @include "lib/dead_letters#read"

  if writable then
    reclaim()
  end
  local LAST = '9007199254740991' -- a damaged number above would begin the same page again
  local limit = tonumber(ARGV[4])
  local dead = call('ZRANGEBYSCORE', DEAD, '(' .. ARGV[3], LAST, 'WITHSCORES', 'LIMIT', 0, limit + 1)
  local reply, frames, raw, last = { -1 }, {}, 0, -1
  for k = 1, #dead, 2 do
    local record = call('HGET', FRAMES, dead[k]) or ''
    -- The reason does not count towards the size.
    local frame, instead = frame_of(dead[k], record)
    frames[#frames + 1] = frame or instead
    raw = raw + (frame and has_large and size_of(frame) or #frames[#frames])
    if #frames > limit or not fits(frames, raw) then
      -- A page that shows anything ends after its beginning.
      reply[1] = math.max(math.floor(last), ARGV[3] + 1)
      break
    end
    reply[#reply + 1] = instead or record
    last = tonumber(dead[k + 1])
  end
  return reply
end

return dead_letters()

--- @part "revive"
-- revive: puts dead letters back at the tail, without attempts (L13).
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] 'fresh' to take the states away (L21), or ''
-- ARGV[4 …] ids
-- Returns one letter for each id: r revived, n not found or damaged, f full.
-- needs: ARRIVALS, DEAD, DELAYED, FRAMES, LEASES, META, add_to, count_ready, frame_of, join_tail, keep_state, reclaim
-- needs: reframe
-- gives: meta
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"

local function revive()
  --- @include "lib/reclaim"
  --- @include "lib/dead_letters#read"
  --- @include "{kind}/queue#counts"
  --- @include "lib/frames#state"

  reclaim()
  local stored = call('HMGET', META, 'capacity', 'uncounted')
  local capacity = tonumber(stored[1]) or math.huge
  local occupied = count_ready() + call('ZCARD', LEASES) + (tonumber(stored[2]) or 0) + call('ZCARD', DELAYED)
  local answers, revived = {}, 0
  for k = 4, #ARGV do
    local id = ARGV[k]
    local record = call('ZSCORE', DEAD, id) and call('HGET', FRAMES, id)
    local frame = record and frame_of(id, record)
    if not frame then
      answers[k - 3] = 'n'
    elseif occupied >= capacity then
      answers[k - 3] = 'f'
    else
      frame = reframe(frame, 0, now, now, '')
      if ARGV[3] == 'fresh' then
        frame = keep_state(id, frame, '')
      else
        call('HSET', FRAMES, id, frame)
      end
      join_tail({ id }, { frame })
      call('ZREM', DEAD, id)
      occupied, revived = occupied + 1, revived + 1
      answers[k - 3] = 'r'
    end
  end
  if revived > 0 then
    add_to('revived', revived)
  end
  return table.concat(answers)
end

return revive()

--- @part "discard"
-- discard: removes dead letters for good.
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3 …] ids
-- Returns the number of removed dead letters.
-- needs: ARRIVALS, DEAD, META, add_to, forget, reclaim
-- gives: meta
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"

local function discard()
  --- @include "lib/reclaim"

  reclaim()
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

return discard()
