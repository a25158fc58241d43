-- The next messages of a queue whose line is LINE alone, for a usual turn: each is sound, was never tried before,
-- and its place is its id.
-- needs: BYTES, FRAMES, HEAD, ID, SINCE, WITH_PAST, deadline, leases, next_places, reply, size, taken, token
-- needs: usual
while usual and taken < #next_places do
  local frames = call('HMGET', FRAMES, unpack(next_places, taken + 1, math.min(taken + CHUNK, #next_places)))
  for k = 1, #frames do
    local frame, place = frames[k], next_places[taken + 1]
    if not frame or #frame <= HEAD or byte(frame, 1) == WITH_PAST or sub(frame, ID, SINCE - 1) ~= place then
      usual = false
      break
    end
    taken, size = taken + 1, size + #frame
    reply[3 + taken] = frame
    leases[2 * taken - 1], leases[2 * taken] = deadline, place .. pack('>I7', token + taken - 1)
  end
  usual = usual and size <= BYTES
end
