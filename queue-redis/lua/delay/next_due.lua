-- next_due: the time until the first undelivered message is due.
-- needs: LINE, tidy, writable
-- Returns ms, 0 if one is due already, -1 if there is none.
if writable then
  tidy()
end
local due = tonumber(call('ZRANGE', LINE, 0, 0, 'WITHSCORES')[2])
return due and math.min(math.max(due - now, 0), 9007199254740991) or -1
