-- extend: sets the deadlines of live leases to now + lease_time (L10).
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] lease_time: in ms
-- ARGV[4 …] leases: id and token (14 bytes) each, as in LEASES; then the holder's progress, if it reports any
-- Returns one letter for each lease: d extended, l lost.
-- needs: ARRIVALS, FRAMES, LEASES, META, flags, holders, lower_next_due, reclaim, split_batches, wake_up
-- gives: meta
--- @include "lib/call"
--- @include "{kind}/queue"
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"

local function extend()
  --- @include "lib/reclaim"

  -- Stores the progress of a single lease behind the holder's name (L19).
  local function report(member, progress)
    local field = 'h' .. sub(member, 1, 7)
    local holder = string.match(call('HGET', FRAMES, field) or '', '^[^\255]*')
    call('HSET', FRAMES, field, holder .. '\255' .. progress)
    if not holders then
      flags = string.find(flags, 'h', 1, true) and flags or flags .. 'h'
      call('HSET', META, 'flags', flags)
    end
  end

  reclaim()
  local deadline = now + tonumber(ARGV[3])
  local members, progress = { unpack(ARGV, 4) }, {}
  for k = 1, #members do
    if #members[k] > 14 then
      members[k], progress[k] = sub(members[k], 1, 14), sub(members[k], 15)
    end
  end
  split_batches(members)
  local deadlines = call('ZMSCORE', LEASES, unpack(members))
  local first = tonumber(call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')[2])
  local answers, leases = {}, {}
  for k = 1, #members do
    if deadlines[k] and tonumber(deadlines[k]) > now then
      answers[k] = 'd'
      if progress[k] then
        report(members[k], progress[k])
      end
      leases[#leases + 1] = deadline
      leases[#leases + 1] = members[k]
    else
      answers[k] = 'l'
    end
  end
  if leases[1] then
    call('ZADD', LEASES, unpack(leases))
    lower_next_due(deadline)
    -- Wakes up processes that sleep until a later deadline.
    if deadline < first then
      wake_up(ARRIVALS, 1)
    end
  end
  return table.concat(answers)
end

return extend()
