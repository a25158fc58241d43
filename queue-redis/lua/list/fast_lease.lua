-- The next messages of READY on the fast path. LINE must be empty, every element valid, and none a hole. The rest of
-- a pack that has more messages than wanted is put back.
-- needs: BYTES, HEAD, LINE, MESSAGES, PACK, READY, accepted, fast, first_number, frames_back, frames_in_pack, gapless
-- needs: reply, size, split_pack, taken, taken_elements, taken_packed, wants
-- gives: next_list, next_places
local next_list, next_places = READY, nil -- where the next messages are
if fast and wants > 0 then
  fast = call('EXISTS', LINE) == 0
  local before, more, entries, has_packs = 0, true, 3, false
  local full = frames_in_pack and 16 or 1 -- messages of an element, if packs may come next
  while fast and more and taken < wants do
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
      local frame, attempts, number = elements[k], nil, 0
      if #frame > HEAD then
        attempts, number = decode('>BI7', frame)
      end
      if number <= before or number > accepted or attempts ~= 0 and not (attempts == PACK and frames_in_pack) then
        fast = false
        break
      end
      first_number = first_number or number
      entries, size, before, k, taken_elements = entries + 1, size + #frame, number, k + 1, taken_elements + 1
      if attempts == 0 then
        reply[entries], taken = frame, taken + 1
      else
        local count, rest = byte(frame, HEAD + 1), nil
        full, has_packs = 16, true
        if #frame == HEAD + 1 then
          rest = elements[k] or call('LINDEX', READY, taken_elements)
          count = rest and byte(rest, 1) == MESSAGES and count or 0
          k, taken_elements, size = k + 1, taken_elements + 1, size + #(rest or '')
        end
        local some = math.min(count, wants - taken)
        before = number + count - 1
        if count == 0 or before > accepted then
          fast = false
          break
        elseif some == count then
          reply[entries], reply[entries + 1] = frame, rest
          entries = rest and entries + 1 or entries
        elseif wants >= 4 and count - some > 1 then
          reply[entries], frames_back = split_pack(frame, rest, some)
          frames_back = { frames_back }
        else
          local own = frames_in_pack(frame, rest)
          for n = 1, some do
            reply[entries + n - 1] = own[n]
          end
          entries, frames_back = entries + some - 1, {}
          for n = #own, some + 1, -1 do
            frames_back[#frames_back + 1] = own[n]
          end
        end
        taken, before = taken + some, number + some - 1
      end
    end
    fast = fast and size <= BYTES
  end
  taken_packed = has_packs and taken_elements - taken - (frames_back and #frames_back or 0)
  gapless = taken > 0 and before - first_number == taken - 1
end
