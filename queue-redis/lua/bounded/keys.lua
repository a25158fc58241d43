-- Bounded queues. DEDUP and FIRSTS are there only in calls that need them.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, ROOM, DISTINCT
-- gives: OWNED, DEDUP, FIRSTS, HEAD, PROMOTED
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, ROOM, DISTINCT, OWNED, DEDUP, FIRSTS =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12],
  KEYS[13]
local HEAD = 15 -- bytes of a frame before headers and body
local PROMOTED = DELAYED -- what `promote` looks through
