-- Priority queues. DEDUP and FIRSTS are there only in calls that need them.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, DEDUP, FIRSTS, ADDS, PROMOTED, ageing
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, DEDUP, FIRSTS = unpack(KEYS)
local ADDS = 9 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through
local ageing = tonumber(string.match(ARGV[2], 'ageing=(%d+)'))
