-- The line of a priority queue: LINE holds what is ready, FRAMES the frames.
-- Without ageing the score names one of the two lines of a priority, and its order is by member:
--   score -2p - 1, member id                 came back by release or expiry: first, by id (L11)
--   score -2p, member id                     pushed
--   score -2p, member last + number + id     joined the tail when `last` was the last id given:
--                                            after it, by number
-- With ageing the score is arrival - p * ageing, and the member is the id (P4).
-- needs: DELAYED, LINE, end_ties, read_frames
-- gives: gone, pick, any_ahead
local gone = end_ties

-- The next up to `max` messages in delivery order, as many as one call may hand out; moves nothing.
local function pick(max)
  return read_frames(call('ZRANGE', LINE, '0', max == 1 and '0' or max - 1))
end

-- Whether anything is ready, or will be.
local function any_ahead()
  return call('EXISTS', LINE, DELAYED) > 0
end
