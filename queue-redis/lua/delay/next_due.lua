-- next_due: reads the time until the first undelivered message is due.
-- KEYS[…] the queue's keys, see `delay/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- Returns ms; 0 if a message is due already; -1 if there is none.
-- needs: LINE, reclaim, writable
--- @include "lib/call"
--- @include "{kind}/queue"
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
