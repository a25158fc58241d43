-- Rotating queues. RING holds ids by the number of their place, BODIES their headers and bodies,
-- KEYED key → id and NAMED id → key. With a pace, what was never visited is in FRESH instead of
-- RING, numbered alike, and DUE holds when each of the visited ones is due again: the visited are
-- due in the ring's order, so both heads together give what is due without reading past what is
-- not.
-- gives: META, RING, BODIES, ARRIVALS, KEYED, NAMED, FRESH, DUE, HEAD, pace
local META, RING, BODIES, ARRIVALS, KEYED, NAMED, FRESH, DUE =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local HEAD = 0 -- bodies without a frame
local pace = tonumber(string.match(ARGV[2], 'pace=(%d+)'))
