-- What mostly spares a call the looks for what is to be reclaimed, promoted or ended. META keeps, as
-- `quiet`, a time that is not later than the first deadline in LEASES, due time in DELAYED and end in ENDS.
-- Who writes an earlier one says so by `expect`. Who removes one need not: a look that finds nothing does
-- no harm. `tidy` looks once the time has come, and notes the next. It looks at once while a body waits in
-- UPLOADS, which producers fill without a script.
-- needs: UPLOADS, meta
-- gives: quiet_until
local quiet_until = tonumber(meta[4]) or 0
if UPLOADS and call('EXISTS', UPLOADS) == 1 then
  quiet_until = 0
end
