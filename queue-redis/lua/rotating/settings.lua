-- What is stored of a ring alone.
-- gives: pace
local pace = tonumber(string.match(ARGV[2], 'pace=(%d+)')) -- ms from a visit to the next (T4)
