-- Changing what a frame says of its message.
-- needs: FRAME, HEAD, MANY_ATTEMPTS
-- gives: attempts_of, reframe
local function attempts_of(frame)
  local attempts = byte(frame, 1)
  if attempts == MANY_ATTEMPTS then
    return (decode('>I4', frame, HEAD + 1))
  end
  return attempts
end

-- The same message with other attempts, ready since another time; and, where a frame tells its arrival,
-- arrived at another time (P4).
local function reframe(frame, attempts, since, arrival)
  local rest, wide = HEAD + 1, ''
  local head = { decode(FRAME, frame) }
  if head[1] == MANY_ATTEMPTS then
    rest = rest + 4
  end
  head[1], head[3], head[5] = attempts, since or head[3], arrival or head[5]
  if attempts >= MANY_ATTEMPTS then
    head[1], wide = MANY_ATTEMPTS, pack('>I4', attempts)
  end
  return pack(FRAME, unpack(head, 1, 5)) .. wide .. sub(frame, rest)
end
