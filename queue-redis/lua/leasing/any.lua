-- A queue of any kind, as `remove` knows it.
-- gives: META, LEASES, RUNS
local META, LEASES, RUNS = unpack(KEYS, 1, 3)
