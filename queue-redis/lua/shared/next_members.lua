-- The next messages of a queue whose line is LINE alone, for a usual turn: each is sound, was never tried before,
-- and its place is its id.
-- needs: BYTES, FRAMES, HEAD, ID, SINCE, TAGS, first_number, gapless, next_places, reply, size, taken, usual
while usual and taken < #next_places do
  local frames = call('HMGET', FRAMES, unpack(next_places, taken + 1, math.min(taken + CHUNK, #next_places)))
  for k = 1, #frames do
    local frame, place = frames[k], next_places[taken + 1]
    if not frame or #frame <= HEAD or byte(frame, 1) >= TAGS or sub(frame, ID, SINCE - 1) ~= place then
      usual = false
      break
    end
    taken, size = taken + 1, size + #frame
    reply[3 + taken] = frame
    local number = decode('>I7', place)
    gapless = gapless and number - (first_number or number) == taken - 1
    if not first_number or number < first_number then
      first_number = number
    end
  end
  usual = usual and size <= BYTES
end
