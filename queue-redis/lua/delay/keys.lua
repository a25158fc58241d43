-- Delay queues: what is ready and what is delayed share one line, by due time. DEDUP and FIRSTS
-- are there only in calls that need them.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DEDUP, FIRSTS, DELAYED, HEAD
-- gives: PROMOTED
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DEDUP, FIRSTS =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local DELAYED = LINE
local HEAD = 15 -- bytes of a frame before headers and body
local PROMOTED = nil -- what is due is in its place already
