-- Priority queues. DEDUP and FIRSTS are there only in calls that need them.
-- gives: META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, DEDUP, FIRSTS, HEAD
-- gives: PROMOTED, ageing
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, DEDUP, FIRSTS =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local HEAD = 24 -- bytes of a frame before headers and body
local PROMOTED = DELAYED -- what `promote` looks through
local ageing = tonumber(string.match(ARGV[2], 'ageing=(%d+)'))
