-- Priority queues. DEDUP, FIRSTS and ENDS are there only in calls that need them.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, DEDUP, FIRSTS, ENDS, ADDS, PROMOTED
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, DEDUP, FIRSTS, ENDS = unpack(KEYS)
local ADDS = 9 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through
