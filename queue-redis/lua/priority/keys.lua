-- Priority queues. DEDUP and what follows it are there only in calls that need them. KEYS[8] is the guard.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, DEDUP, FIRSTS, ENDS, BODIES
-- gives: UPLOADS, ADDS, PROMOTED
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED = unpack(KEYS)
local DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 9)
local ADDS = 9 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through
