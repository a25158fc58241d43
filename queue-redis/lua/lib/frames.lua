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

--- @part "size"
-- How much of what frames hold goes in one answer.
-- needs: BYTES, HEAD, WITH_PAST
-- gives: fits, size_of

-- Bytes of headers and body of a sound frame, without what separates them; if they are apart, it says how
-- many.
local function size_of(frame)
  local at = HEAD + 1
  if HEAD > 0 and byte(frame, 1) == WITH_PAST then
    at = at + 13 + decode('>I2', frame, at + 11)
  end
  local kind = byte(frame, at)
  if kind == 0 or #frame < at + 4 then
    return #frame - at
  elseif kind == 2 then
    return (decode('>I4', frame, at + 1))
  end
  return math.max(#frame - at - 4 - 8 * decode('>I4', frame, at + 1), 0)
end

-- Whether the last of these frames may be handed out with the others. `raw` are their bytes with
-- heads, and of what is apart, which settles nearly every case.
local function fits(frames, raw)
  if raw <= BYTES or #frames == 1 then
    return true
  end
  local total = 0
  for k = 1, #frames do
    total = total + size_of(frames[k])
  end
  return total <= BYTES
end

--- @part "valid"
-- needs: HEAD, ID, SINCE, WITH_PAST
-- gives: id_of, is_sound
local function id_of(frame)
  return sub(frame, ID, SINCE - 1)
end

-- What somebody else damaged.

-- Whether this is the frame of the message with this id, as far as scripts read it. Headers and body are the
-- client's matter.
local function is_sound(frame, id)
  if #frame <= HEAD or sub(frame, ID, SINCE - 1) ~= id then
    return false
  elseif byte(frame, 1) == WITH_PAST then
    return #frame > HEAD + 13 and #frame > HEAD + 13 + decode('>I2', frame, HEAD + 12)
  end
  return byte(frame, 1) < WITH_PAST - 2
end

--- @part "edit"
-- Changing what a frame says of its message.
-- needs: FRAME, HEAD, PAST, WITH_PAST
-- gives: attempts_of, reframe

local function attempts_of(frame)
  local attempts = byte(frame, 1)
  if attempts == WITH_PAST then
    return (decode('>I4', frame, HEAD + 1))
  end
  return attempts
end

-- The same message with other attempts, ready since another time; and, where a frame tells its arrival,
-- arrived at another time (P4). `failure` is why it failed, '' for nothing; nil leaves it as it is (L14).
local function reframe(frame, attempts, since, arrival, failure)
  local rest, past = HEAD + 1, ''
  local head = { decode(FRAME, frame) }
  local pushed, told = head[3], ''
  if head[1] == WITH_PAST then
    local _, first, length = decode(PAST, frame, rest)
    rest = rest + 13 + length
    pushed, told = first, sub(frame, rest - length, rest - 1)
  end
  told = failure or told
  head[1], head[3], head[5] = attempts, since or head[3], arrival or head[5]
  if attempts >= WITH_PAST - 2 or told ~= '' or head[3] ~= pushed then
    head[1], past = WITH_PAST, pack(PAST, attempts, pushed, #told) .. told
  end
  return pack(FRAME, unpack(head, 1, 5)) .. past .. sub(frame, rest)
end
