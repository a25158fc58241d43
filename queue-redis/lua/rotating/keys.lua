-- Rotating queues. RING holds ids by the number of their place, BODIES their headers and bodies (see
-- `rotating/apart` for large ones), KEYED key → id and NAMED id → key. With a pace, what was never
-- visited is in FRESH instead of RING, numbered alike, and DUE holds when each of the visited ones
-- is due again: the visited are due in the ring's order, so both heads together give what is due
-- without reading past what is not.
-- UPLOADS is there only in calls that need it. KEYS[9] is the guard.
-- gives: META, RING, BODIES, ARRIVALS, KEYED, NAMED, FRESH, DUE, UPLOADS, ADDS
local META, RING, BODIES, ARRIVALS, KEYED, NAMED, FRESH, DUE, _, UPLOADS = unpack(KEYS)
local ADDS = nil -- its bodies have no frame
