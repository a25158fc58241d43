-- The next messages of a list, for a usual turn: the first of READY, if nothing comes before them, and if all are
-- sound and none is a hole. Of a pack that has too many, the others go back.
-- needs: BYTES, HEAD, LINE, PACK, READY, accepted, first_number, frames_back, gapless, parts, reply, size, split
-- needs: taken, taken_elements, taken_packed, usual, wants
-- gives: next_list, next_places
local next_list, next_places = READY, nil -- where they are
if usual and wants > 0 then
  usual = call('EXISTS', LINE) == 0
  local before, more, entries = 0, true, 3
  local full = parts and 16 or 1 -- messages that the next elements may have
  while usual and more and taken < wants do
    local frames
    local asked = wants - taken
    if full > 1 then
      asked = math.ceil(asked / full)
    end
    asked = asked < CHUNK and asked or CHUNK
    if asked == 1 then
      frames = { call('LINDEX', READY, taken_elements == 0 and '0' or taken_elements) or nil }
    else
      frames = call('LRANGE', READY, taken_elements, taken_elements + asked - 1)
    end
    more, full = #frames == asked, 1
    for k = 1, #frames do
      local frame, attempts, number, count = frames[k], nil, 0, 1
      if #frame > HEAD then
        attempts, number = decode('>BI7', frame)
      end
      if attempts == PACK and parts then
        attempts, count, full = 0, byte(frame, HEAD + 1), 16
      end
      if attempts ~= 0 or count == 0 or number <= before or number + count - 1 > accepted then
        usual = false
        break
      end
      first_number = first_number or number
      taken_elements, entries = taken_elements + 1, entries + 1
      if taken + count > wants then
        local some = wants - taken
        if wants >= 4 and count - some > 1 then
          frame, frames_back = split(frame, some)
          frames_back, taken_packed = { frames_back }, taken_packed + some
        else
          local own = parts(frame)
          for n = 1, some do
            reply[entries + n - 1] = own[n]
          end
          frame, entries = own[some], entries + some - 1
          frames_back, taken_packed = {}, taken_packed + count - 1
          for n = #own, some + 1, -1 do
            frames_back[#frames_back + 1] = own[n]
          end
        end
        count = some
      else
        taken_packed = taken_packed + count - 1
      end
      reply[entries] = frame
      taken, size, before = taken + count, size + #frame, number + count - 1
      if taken == wants then
        break
      end
    end
    usual = usual and size <= BYTES
  end
  gapless = taken > 0 and before - first_number == taken - 1
end
