-- How much of what frames hold goes in one answer.
-- needs: BYTES, HEAD, ID, SINCE, WITH_PAST
-- gives: id_of, size_of, fits

local function id_of(frame)
  return sub(frame, ID, SINCE - 1)
end

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
