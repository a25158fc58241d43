-- reschedule: gives an undelivered message another due time (D4).
-- needs: ARRIVALS, LINE, arm, tidy
-- ARGV[3] id
-- ARGV[4] 8 bytes: 0 and ms from now, or 1 and ms since 1970
-- Returns 1 if it was moved, 0 if it is too late.
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
