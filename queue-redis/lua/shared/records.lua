-- Reading dead letters' records, see `graves`.
-- needs: RECORD, is_sound
-- gives: frame_of

-- The frame of a record. Or nil, if that is damaged, and a record that says so.
local function frame_of(id, record)
  local died = 0
  if #record >= 10 then
    local time, why, length, reason = decode(RECORD, record)
    local frame = sub(record, reason + length)
    if why ~= 'd' and is_sound(frame, id) then
      return frame
    elseif why == 'd' and #record >= 17 then
      return nil, record
    end
    died = time
  end
  -- No message has the id 0.
  return nil, pack(RECORD, died, 'd', 0) .. (#id == 7 and id or '\0\0\0\0\0\0\0') .. record
end
