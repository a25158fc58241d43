-- Priority queues. DEDUP and FIRSTS are there only in calls that need them.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, DEDUP, FIRSTS, ADDS, PROMOTED
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, DEDUP, FIRSTS = unpack(KEYS)
local ADDS = 9 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through
