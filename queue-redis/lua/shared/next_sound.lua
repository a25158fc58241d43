-- What is damaged, or was tried before, goes the long way.
-- needs: HEAD, ID, SINCE, WITH_PAST, next_frame, next_place
if next_frame and (#next_frame <= HEAD or byte(next_frame, 1) == WITH_PAST
  or sub(next_frame, ID, SINCE - 1) ~= next_place) then
  next_frame = nil
end
