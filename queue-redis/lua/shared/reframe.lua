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
