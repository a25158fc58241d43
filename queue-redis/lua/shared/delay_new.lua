-- Messages that are pushed before they are due (D1).
-- needs: ARRIVALS, DELAYED, FRAME, FRAMES, PAST, WITH_PAST, add_many, arm
-- gives: delayed_frame, delay_new

-- The frame of a new message that is ready from `due` on; `more` is what its kind adds to the head.
local function delayed_frame(id, due, ...)
  return pack(FRAME, WITH_PAST, id, due, ...) .. pack(PAST, 0, now, 0)
end

-- Keeps these until they are due: pairs of id and frame, and pairs of due time and id. An earlier first
-- due time is told to those who sleep towards a later one (D5).
local function delay_new(frames, places)
  call('HSET', FRAMES, unpack(frames))
  add_many(DELAYED, places)
  local first = call('ZRANGE', DELAYED, 0, 0)[1]
  for k = 2, #places, 2 do
    if places[k] == first then
      arm(ARRIVALS, 1)
    end
  end
end
