-- Reliable queues. DEDUP and what follows it are there only in calls that need them. KEYS[10] is the guard.
-- gives: ADDS, ARRIVALS, BODIES, DEAD, DEDUP, DELAYED, ENDS, FIRSTS, FRAMES, LEASES, LINE, META, PROMOTED, READY
-- gives: RUNS, UPLOADS
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, RUNS = unpack(KEYS)
local DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 11)
local ADDS = 0 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through

--- @part "fast_lease"
--- @include "list/fast_lease"

--- @part "line"
-- needs: end_ties
-- gives: gone
--- @include "lib/attachments"
local gone = end_ties
--- @include "list/line"

--- @part "moves"
--- @include "list/line#moves"

--- @part "counts"
--- @include "list/lookup#counts"

--- @part "lookup"
--- @include "list/lookup#lookup"
