-- Priority queues. DEDUP and what follows it are there only in calls that need them. KEYS[9] is the guard.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, RUNS, DEDUP, FIRSTS, ENDS, BODIES
-- gives: UPLOADS, ADDS, PROMOTED
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, RUNS = unpack(KEYS)
local DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 10)
local ADDS = 9 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through
