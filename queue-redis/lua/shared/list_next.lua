-- The next messages of a list, for a usual turn: the first of READY, if nothing comes before them, and if all are
-- sound and none is a hole.
-- needs: BYTES, HEAD, LINE, READY, accepted, first_number, gapless, reply, size, taken, usual, wants
-- gives: next_list, next_places
local next_list, next_places = READY, nil -- where they are
if usual and wants > 0 then
  usual = call('EXISTS', LINE) == 0
  local before, more = 0, true
  while usual and more and taken < wants do
    local frames
    if wants == 1 then
      frames = { call('LINDEX', READY, '0') or nil }
    else
      frames = call('LRANGE', READY, taken, math.min(taken + CHUNK, wants) - 1)
    end
    more = #frames == CHUNK
    for k = 1, #frames do
      local frame, attempts, number = frames[k], nil, 0
      if #frame > HEAD then
        attempts, number = decode('>BI7', frame)
      end
      if attempts ~= 0 or number <= before or number > accepted then
        usual = false
        break
      end
      first_number = first_number or number
      taken, size, before = taken + 1, size + #frame, number
      reply[3 + taken] = frame
    end
    usual = usual and size <= BYTES
  end
  gapless = taken > 0 and before - first_number == taken - 1
end
