-- Messages with a time to live wait for its end while nobody holds them (see `ends`).
-- needs: ENDS, FRAMES, expect, fields_of, limited
-- gives: wait_on

-- Nobody holds these any more.
local function wait_on(ids)
  if not limited or not ids[1] then
    return
  end
  local places = {}
  for k, kept in ipairs(call('HMGET', FRAMES, unpack(fields_of('e', ids)))) do
    if kept and #kept == 8 then
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
