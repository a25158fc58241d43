-- Due times.
--- @include "lib/call"
--- @include "{kind}/queue"

--- @part "reschedule"
-- reschedule: gives an undelivered message another due time (D4).
-- ARGV[3] id
-- ARGV[4] 8 bytes: 0 and ms from now, or 1 and ms since 1970
-- Returns 1 if it was moved, 0 if it is too late.
-- needs: ARRIVALS, LINE, META, arm, tidy
-- gives: meta
call('ZREM', ARRIVALS, '')
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet', 'token', 'acked')
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  tidy()
  if not call('ZSCORE', LINE, ARGV[3]) then
    return 0
  end
  local absolute, due = decode('>BI7', ARGV[4])
  due = absolute == 1 and math.max(due, now) or now + due
  call('ZADD', LINE, due, ARGV[3])
  -- Tells those who sleep towards a later due time (D5).
  if call('ZRANGE', LINE, 0, 0)[1] == ARGV[3] then
    arm(ARRIVALS, 1)
  end
  return 1
end
return slow_path()

--- @part "next_due"
-- next_due: the time until the first undelivered message is due.
-- Returns ms, 0 if one is due already, -1 if there is none.
-- needs: LINE, tidy, writable
--- @include "lib/call#read_only"
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  if writable then
    tidy()
  end
  local due = tonumber(call('ZRANGE', LINE, 0, 0, 'WITHSCORES')[2])
  return due and math.min(math.max(due - now, 0), 9007199254740991) or -1
end
return slow_path()
