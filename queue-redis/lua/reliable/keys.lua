-- Reliable queues. DEDUP and what follows it are there only in calls that need them. KEYS[10] is the guard.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, RUNS, DEDUP, FIRSTS, ENDS, BODIES
-- gives: UPLOADS, ADDS, PROMOTED
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, RUNS = unpack(KEYS)
local DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 11)
local ADDS = 0 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through
