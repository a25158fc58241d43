-- A frame is all that is known of a message, in one string:
--   byte 1       attempts charged before its next delivery; 255 if they follow the head
--   bytes 2-8    id
--   bytes 9-15   since when it is or will be ready, in ms (delay queues: not kept up, see `line`)
--   up to HEAD   what its kind adds
--   4 bytes      attempts, only if byte 1 is 255
--   the rest     headers and body as the client wrote them
-- Numbers are big-endian, so that ids sort as strings.
-- needs: HEAD
-- gives: BYTES, id_of, fits
local BYTES = 8388608 -- of headers and bodies that one call hands out

local function id_of(frame)
  return sub(frame, 2, 8)
end

-- Bytes of headers and body, without what separates them.
local function size_of(frame)
  local at = HEAD + 1
  if byte(frame, 1) == 255 then
    at = at + 4
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
