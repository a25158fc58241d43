-- What few queues have, as letters, so that the others ask for no more than that:
--   p  it is paused
--   h  a lease had a holder's name
--   u  a dedup mark was to end with its message
--   o  a message was cancelled in READY and left a hole
-- All but `p` stay.
-- needs: META
-- gives: flags
local flags = call('HGET', META, 'flags') or ''
