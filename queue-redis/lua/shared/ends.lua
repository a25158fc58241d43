-- Times to live (L17). FRAMES keeps the end of a message's time under 'e' and the id (7 bytes), and what
-- becomes of the message then (1 byte: d dropped, b buried). While nobody holds the message, it stands in
-- ENDS by that end. It is never in READY, so that it can be taken out of its place wherever that is.
-- needs: ENDS, FRAMES, expect, limited
-- gives: end_fields, wait_on, outdated_left
local outdated_left = false -- whether more are outdated than one call ends

local function end_fields(ids)
  local fields = {}
  for k = 1, #ids do
    fields[k] = 'e' .. ids[k]
  end
  return fields
end

-- Nobody holds these any more.
local function wait_on(ids)
  if not limited or not ids[1] then
    return
  end
  local places = {}
  for k, kept in ipairs(call('HMGET', FRAMES, unpack(end_fields(ids)))) do
    if kept then
      local over = decode('>I7', kept)
      expect(over)
      places[#places + 1] = string.format('%d', over)
      places[#places + 1] = ids[k]
    end
  end
  if places[1] then
    call('ZADD', ENDS, unpack(places))
  end
end
