-- Due times of undelivered messages: `reschedule` changes one, and `next_due` reads the first.
--- @include "lib/call"
--- @include "{kind}/queue"

--- @part "reschedule"
-- reschedule: gives an undelivered message another due time (D4).
-- KEYS[…] the queue's keys, see `delay/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] id
-- ARGV[4] due time: 8 bytes, 0 and ms from now, or 1 and ms since 1970
-- Returns 1 if the message was moved, 0 if it is too late.
-- needs: ARRIVALS, LINE, META, reclaim, wake_up
-- gives: meta
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"

local function reschedule()
  --- @include "lib/reclaim"

  reclaim()
  if not call('ZSCORE', LINE, ARGV[3]) then
    return 0
  end
  local absolute, due = decode('>BI7', ARGV[4])
  due = absolute == 1 and math.max(due, now) or now + due
  call('ZADD', LINE, due, ARGV[3])
  -- Wakes up processes that sleep until a later due time (D5).
  if call('ZRANGE', LINE, 0, 0)[1] == ARGV[3] then
    wake_up(ARRIVALS, 1)
  end
  return 1
end

return reschedule()

--- @part "next_due"
-- next_due: reads the time until the first undelivered message is due.
-- KEYS[…] the queue's keys, see `delay/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- Returns ms; 0 if a message is due already; -1 if there is none.
-- needs: LINE, reclaim, writable
--- @include "lib/call#read_only"
--- @include "lib/config#state"

local function next_due_time()
  --- @include "lib/reclaim"

  if writable then
    reclaim()
  end
  local due = tonumber(call('ZRANGE', LINE, 0, 0, 'WITHSCORES')[2])
  return due and math.min(math.max(due - now, 0), 9007199254740991) or -1
end

return next_due_time()
