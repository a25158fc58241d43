-- Bounded queues. DEDUP and what follows it are there only in calls that need them. KEYS[13] is the guard.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, RUNS, ROOM, DISTINCT, OWNED
-- gives: DEDUP, FIRSTS, ENDS, BODIES, UPLOADS, ADDS, PROMOTED
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, RUNS = unpack(KEYS)
local ROOM, DISTINCT, OWNED, _, DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 10)
local ADDS = 0 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through
