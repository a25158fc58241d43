-- Reliable queues. DEDUP, FIRSTS and ENDS are there only in calls that need them.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, DEDUP, FIRSTS, ENDS, ADDS, PROMOTED
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, DEDUP, FIRSTS, ENDS = unpack(KEYS)
local ADDS = 0 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through
