-- A frame is one string with all that is stored of a message:
-- - 1 byte    attempts that were charged, if fewer than TAGS; WITH_PAST if the attempts follow the head
-- - 7 bytes   id
-- - 7 bytes   time in ms since which the message is ready, or at which it will be. On a delay queue, and in a frame
--             without a past, the time of the push
-- - 9 bytes   on a priority queue only: priority + 32768 (2 bytes), arrival in ms (7 bytes)
-- - 1 byte    on a grouped queue only: the length of the group's key, minus 1
-- - a past    in some frames: attempts (4 bytes), time of the push in ms (7 bytes), length of the reason of the last
--             retry (2 bytes), reason; see `reframe`. A message that is pushed with a due time has a past, too
-- - a key     on a grouped queue only: the key of its group
-- - a state   in some frames (L21): a byte of three, its length (4 bytes), the state
-- - the rest  headers and body as the client wrote them, or their reference; see src/frame.rs
--
-- Numbers are big-endian, so ids sort as strings. All scripts that read or write a frame use these names. They are no
-- functions, because each function costs a push as much as a command.
-- needs: EXTRA_HEAD
-- gives: BYTES, FRAME, HEAD, ID, PACK, PAST, SINCE, TAGS, WITH_PAST
local FRAME = EXTRA_HEAD == 9 and '>BI7I7I2I7' or EXTRA_HEAD == 1 and '>BI7I7B' or '>BI7I7' -- its head
local HEAD = EXTRA_HEAD and 15 + EXTRA_HEAD or 0 -- length of the head
local ID, SINCE = 2, 9 -- where these two begin in a frame, an I7 each
-- The least tag. The slow path writes WITH_PAST - 2, because a function may use 60 names of the outer function only.
local TAGS = 253
local PACK = 254 -- first byte of an element of READY that is a pack: see `lib/packs`
local WITH_PAST = 255 -- first byte of a frame with a past
local PAST = '>I4I7I2' -- 13 bytes, and then the reason
local BYTES = 8388608 -- of headers and bodies that one call returns at most

--- @part "size"
-- The size of a reply.
-- needs: BYTES, HEAD, WITH_PAST
-- gives: after_state, fits, size_of

-- Where the state of a valid frame begins, and where its headers and body do: at the same place without a state.
local function after_state(frame)
  local at = HEAD + 1
  if HEAD > 0 and byte(frame, 1) == WITH_PAST then
    at = at + 13 + decode('>I2', frame, at + 11)
  end
  if HEAD == 16 then -- a grouped queue
    at = at + byte(frame, HEAD) + 1
  end
  if byte(frame, at) == 3 and #frame > at + 4 then
    local length, from = decode('>I4', frame, at + 1)
    return at, math.min(from + length, #frame)
  end
  return at, at
end

-- Bytes of state, headers and body in a valid frame, without separators. A reference says how long its headers and body
-- are.
local function size_of(frame)
  local from, at = after_state(frame)
  local state = math.max(at - from - 5, 0)
  local kind = byte(frame, at)
  if kind == 0 or #frame < at + 4 then
    return state + #frame - at
  elseif kind == 2 then
    return state + decode('>I4', frame, at + 1)
  end
  return state + math.max(#frame - at - 4 - 8 * decode('>I4', frame, at + 1), 0)
end

-- Whether the last of these frames fits into the reply with the others. `raw` is the size of the whole frames and of
-- their out-of-line bodies. It decides nearly every case.
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

--- @part "state"
-- needs: FRAMES, after_state
-- gives: keep_state
--- @include "lib/frames#size"

-- Stores the frame of a message with a state (L21); '' for none. Returns the new frame.
local function keep_state(id, frame, state)
  local at, from = after_state(frame)
  local kept = state ~= '' and pack('>BI4', 3, #state) .. state or ''
  frame = sub(frame, 1, at - 1) .. kept .. sub(frame, from)
  call('HSET', FRAMES, id, frame)
  return frame
end

--- @part "valid"
-- Checks of frames, which other programs may have damaged.
-- needs: HEAD, ID, SINCE, WITH_PAST
-- gives: id_of, is_valid

-- The id in a frame, 7 bytes.
local function id_of(frame)
  return sub(frame, ID, SINCE - 1)
end

-- Whether this is a frame of the message `id`, as far as scripts read it. Only clients read headers and body.
local function is_valid(frame, id)
  if #frame <= HEAD or sub(frame, ID, SINCE - 1) ~= id then
    return false
  end
  local start = HEAD == 16 and HEAD + 1 + byte(frame, HEAD) or HEAD
  if byte(frame, 1) == WITH_PAST then
    return #frame > start + 13 and #frame > start + 13 + decode('>I2', frame, HEAD + 12)
  end
  return byte(frame, 1) < WITH_PAST - 2 and #frame > start
end

--- @part "edit"
-- Reads the attempts of a frame, and changes a frame.
-- needs: FRAME, HEAD, PAST, WITH_PAST
-- gives: attempts_of, reframe

-- The attempts that were charged.
local function attempts_of(frame)
  local attempts = byte(frame, 1)
  if attempts == WITH_PAST then
    return (decode('>I4', frame, HEAD + 1))
  end
  return attempts
end

-- The frame of the same message with other attempts, and ready since another time. On a priority queue `arrival`
-- replaces the stored arrival (P4). `failure` replaces the reason of the last retry: '' for none, nil for the same
-- (L14).
local function reframe(frame, attempts, since, arrival, failure)
  local rest, past = HEAD + 1, ''
  local head = { decode(FRAME, frame) }
  local pushed, reason = head[3], ''
  if head[1] == WITH_PAST then
    local _, first, length = decode(PAST, frame, rest)
    rest = rest + 13 + length
    pushed, reason = first, sub(frame, rest - length, rest - 1)
  end
  reason = failure or reason
  head[1], head[3], head[5] = attempts, since or head[3], arrival or head[5]
  if attempts >= WITH_PAST - 2 or reason ~= '' or head[3] ~= pushed then
    head[1], past = WITH_PAST, pack(PAST, attempts, pushed, #reason) .. reason
  end
  return pack(FRAME, unpack(head, 1, 5)) .. past .. sub(frame, rest)
end
