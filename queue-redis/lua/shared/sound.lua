-- What somebody else damaged.
-- needs: HEAD, ID, SINCE, WITH_PAST
-- gives: is_sound

-- Whether this is the frame of the message with this id, as far as scripts read it. Headers and body are the
-- client's matter.
local function is_sound(frame, id)
  if #frame <= HEAD or sub(frame, ID, SINCE - 1) ~= id then
    return false
  elseif byte(frame, 1) == WITH_PAST then
    return #frame > HEAD + 13 and #frame > HEAD + 13 + decode('>I2', frame, HEAD + 12)
  end
  return byte(frame, 1) < WITH_PAST - 2
end
