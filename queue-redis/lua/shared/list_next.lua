-- The next messages of a list, for a usual turn: the first of READY, if nothing comes before them, and if all are
-- sound and none is a hole. Of a pack that has too many, the others go back.
-- needs: BYTES, HEAD, LINE, MESSAGES, PACK, READY, accepted, first_number, frames_back, gapless, parts, reply, size
-- needs: split, taken, taken_elements, taken_packed, usual, wants
-- gives: next_list, next_places
local next_list, next_places = READY, nil -- where they are
if usual and wants > 0 then
  usual = call('EXISTS', LINE) == 0
  local before, more, entries, has_packs = 0, true, 3, false
  local full = parts and 16 or 1 -- messages that the next may be in one pack
  while usual and more and taken < wants do
    local elements
    local asked = wants - taken
    if full > 1 and asked > 1 then
      asked = 2 * math.ceil(asked / full)
    end
    asked = asked < CHUNK and asked or CHUNK
    if asked == 1 then
      elements = { call('LINDEX', READY, taken_elements == 0 and '0' or taken_elements) or nil }
    else
      elements = call('LRANGE', READY, taken_elements, taken_elements + asked - 1)
    end
    more, full = #elements == asked, 1
    local k = 1
    while elements[k] and taken < wants do
      local frame, rest, attempts, number, count = elements[k], nil, nil, 0, 1
      if #frame > HEAD then
        attempts, number = decode('>BI7', frame)
      end
      if attempts == PACK and parts then
        attempts, count, full, has_packs = 0, byte(frame, HEAD + 1), 16, true
        if #frame == HEAD + 1 then
          rest = elements[k + 1] or call('LINDEX', READY, taken_elements + 1)
          attempts = rest and byte(rest, 1) == MESSAGES and 0
        end
      end
      if attempts ~= 0 or count == 0 or number <= before or number + count - 1 > accepted then
        usual = false
        break
      end
      first_number = first_number or number
      k, taken_elements, entries = k + (rest and 2 or 1), taken_elements + (rest and 2 or 1), entries + 1
      if taken + count > wants then
        local some = wants - taken
        if wants >= 4 and count - some > 1 then
          frame, frames_back = split(frame, rest, some)
          frames_back = { frames_back }
        else
          local own = parts(frame, rest)
          for n = 1, some do
            reply[entries + n - 1] = own[n]
          end
          frame, entries = own[some], entries + some - 1
          frames_back = {}
          for n = #own, some + 1, -1 do
            frames_back[#frames_back + 1] = own[n]
          end
        end
        count, rest = some, nil
      end
      reply[entries] = frame
      taken, size, before = taken + count, size + #frame, number + count - 1
      if rest then
        entries, size = entries + 1, size + #rest
        reply[entries] = rest
      end
    end
    usual = usual and size <= BYTES
  end
  taken_packed = has_packs and taken_elements - taken - (frames_back and #frames_back or 0)
  gapless = taken > 0 and before - first_number == taken - 1
end
