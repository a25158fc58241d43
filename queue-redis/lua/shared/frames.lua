-- A frame is all that is known of a message, in one string:
--   1 byte    attempts charged before its next delivery, less than TAGS; or a tag in their place:
--             WITH_PAST if the attempts follow the head. From TAGS on, no byte is a number of attempts
--   7 bytes   id
--   7 bytes   since when it is or will be ready, in ms; without a past, and on a delay queue, when it was
--             pushed
--   9 bytes   on a priority queue: priority + 32768 (2 bytes), arrival in ms (7 bytes)
--   a past    only if it has one: attempts (4 bytes), ms of the push (7 bytes), length of the reason of the
--             last retry (2 bytes), reason; see `reframe`. A message pushed with a due time has one, too
--   the rest  headers and body as the client wrote them, or where they are, see src/frame.rs
-- Numbers are big-endian, so that ids sort as strings. Whoever reads or writes a frame does so by what
-- is named here; it is names only, since a push pays for each function that it makes.
-- needs: ADDS
-- gives: BYTES, FRAME, HEAD, ID, PACK, PAST, SINCE, TAGS, WITH_PAST
local FRAME = ADDS == 9 and '>BI7I7I2I7' or '>BI7I7' -- its head
local HEAD = ADDS and 15 + ADDS or 0 -- how many bytes that is
local ID, SINCE = 2, 9 -- where they begin, each an I7
local TAGS = 253 -- the least tag. The long way writes WITH_PAST - 2, since it may use few names from outside
local PACK = 254 -- how an element of READY begins that is no frame: see `packs`
local WITH_PAST = 255
local PAST = '>I4I7I2' -- 13 bytes, and then the reason
local BYTES = 8388608 -- of headers and bodies that one call hands out
