-- How much of what frames hold goes in one answer.
-- needs: HEAD, ID, SINCE, WITH_PAST
-- gives: BYTES, id_of, fits
local BYTES = 8388608 -- of headers and bodies that one call hands out

local function id_of(frame)
  return sub(frame, ID, SINCE - 1)
end

-- Bytes of headers and body, without what separates them.
local function size_of(frame)
  local at = HEAD + 1
  if byte(frame, 1) == WITH_PAST then
    at = at + 13 + decode('>I2', frame, at + 11)
  end
  if byte(frame, at) == 0 then
    return #frame - at
  end
  return #frame - at - 4 - 8 * decode('>I4', frame, at + 1)
end

-- Whether the last of these frames may be handed out with the others. `raw` are their bytes with
-- heads, which settles nearly every case.
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
