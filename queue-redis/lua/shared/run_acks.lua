-- Which messages of a run (see `runs`) are acked, by their places in it: 1 byte each, 128 for the first, under 'a' and
-- the run in FRAMES.
-- needs: FRAMES
-- gives: acked_of, has_place
local function acked_of(run)
  return call('HGET', FRAMES, 'a' .. run) or ''
end

-- Whether the message in this place is one of them.
local function has_place(places, k)
  return string.find(places, string.char(127 + k), 1, true)
end
