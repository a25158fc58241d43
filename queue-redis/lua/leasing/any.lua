-- A queue of any kind, as `remove` knows it.
-- gives: META, LEASES, RUNS, FRAMES
local META, LEASES, RUNS, FRAMES = unpack(KEYS, 1, 4)
