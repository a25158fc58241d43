-- A frame is all that is known of a message, in one string:
--   1 byte    attempts charged before its next delivery; MANY_ATTEMPTS if they follow the head
--   7 bytes   id
--   7 bytes   since when it is or will be ready, in ms (delay queues: not kept up, see `line`)
--   9 bytes   on a priority queue: priority + 32768 (2 bytes), arrival in ms (7 bytes)
--   4 bytes   attempts, only if they are many
--   the rest  headers and body as the client wrote them, see src/frame.rs
-- Numbers are big-endian, so that ids sort as strings. Whoever reads or writes a frame does so by what
-- is named here; it is names only, since a push pays for each function that it makes.
-- needs: ADDS
-- gives: FRAME, HEAD, ID, SINCE, MANY_ATTEMPTS
local FRAME = ADDS == 9 and '>BI7I7I2I7' or '>BI7I7' -- its head
local HEAD = ADDS and 15 + ADDS or 0 -- how many bytes that is
local ID, SINCE = 2, 9 -- where they begin, each an I7
local MANY_ATTEMPTS = 255
