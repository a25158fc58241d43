-- extend: sets deadlines of live leases to now + lease_time (L10).
-- ARGV[3] lease_time in ms
-- ARGV[4 …] id and token (14 bytes), a member of LEASES
-- Returns one letter each: d extended, l lease lost.
-- needs: ARRIVALS, LEASES, META, arm, expect, separate, tidy
-- gives: meta
--- @include "lib/call"
--- @include "{kind}/queue"
call('ZREM', ARRIVALS, '')
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet', 'token', 'acked')
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  tidy()
  local deadline = now + tonumber(ARGV[3])
  local members = { unpack(ARGV, 4) }
  separate(members)
  local deadlines = call('ZMSCORE', LEASES, unpack(members))
  local first = tonumber(call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')[2])
  local answers, leases = {}, {}
  for k = 1, #members do
    if deadlines[k] and tonumber(deadlines[k]) > now then
      answers[k] = 'd'
      leases[#leases + 1] = deadline
      leases[#leases + 1] = members[k]
    else
      answers[k] = 'l'
    end
  end
  if leases[1] then
    call('ZADD', LEASES, unpack(leases))
    expect(deadline)
    -- Told to those who sleep towards a later deadline.
    if deadline < first then
      arm(ARRIVALS, 1)
    end
  end
  return table.concat(answers)
end
return slow_path()
