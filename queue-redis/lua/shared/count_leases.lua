-- Counting leased messages. A run is one member of LEASES, whatever it leases; META has how many messages that leaves
-- out. Which of them are of runs that have expired is seen only by looking at each run, where any lease has.
-- needs: LEASES, META, RUNS, acked_of
-- gives: count_leases

-- How many messages have live leases, and how many have any.
local function count_leases()
  local live, left_out = call('ZCOUNT', LEASES, '(' .. now_text, '+inf'), call('HGET', META, 'uncounted')
  local total, uncounted = call('ZCARD', LEASES), tonumber(left_out) or 0
  local rank, over = 0, 0
  while live < total and uncounted > 0 do
    local runs = call('ZRANGE', RUNS, rank, rank + 999)
    if not runs[1] then
      break
    end
    for k, deadline in ipairs(call('ZMSCORE', LEASES, unpack(runs))) do
      if deadline and tonumber(deadline) <= now then
        over = over + byte(runs[k], 15) - #acked_of(runs[k]) - 1
      end
    end
    rank = rank + 1000
  end
  return live + uncounted - over, total + uncounted
end
