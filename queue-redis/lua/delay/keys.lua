-- Delay queues: what is ready and what is delayed share one line, by due time. DEDUP and what follows it
-- are there only in calls that need them. KEYS[8] is the guard.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, RUNS, DEDUP, FIRSTS, ENDS, BODIES, UPLOADS
-- gives: DELAYED, ADDS, PROMOTED
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, RUNS, _, DEDUP, FIRSTS, ENDS, BODIES, UPLOADS =
  unpack(KEYS)
local DELAYED = LINE
local ADDS = 0 -- bytes to the head of a frame
local PROMOTED = nil -- what is due is in its place already
