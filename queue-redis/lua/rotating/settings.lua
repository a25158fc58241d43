-- What is stored of a ring alone.
-- needs: config
-- gives: pace
local pace = tonumber(string.match(config, 'pace=(%d+)')) -- ms from a visit to the next (T4)
