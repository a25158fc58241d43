-- Changing what a frame says of its message.
-- needs: HEAD
-- gives: attempts_of, reframe
local function attempts_of(frame)
  local attempts = byte(frame, 1)
  if attempts == 255 then
    return (decode('>I4', frame, HEAD + 1))
  end
  return attempts
end

-- The same message with other attempts, ready since another time. `extra` stands in for what its
-- kind adds, where that changes.
local function reframe(frame, attempts, since, extra)
  local rest = HEAD + 1
  if byte(frame, 1) == 255 then
    rest = rest + 4
  end
  local first, wide = attempts, ''
  if attempts >= 255 then
    first, wide = 255, pack('>I4', attempts)
  end
  local ready = since and pack('>I7', since) or sub(frame, 9, 15)
  return char(first) .. sub(frame, 2, 8) .. ready .. (extra or sub(frame, 16, HEAD)) .. wide .. sub(frame, rest)
end
