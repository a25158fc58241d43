-- What is stored of a priority queue alone.
-- needs: config
-- gives: ageing
local ageing = tonumber(string.match(config, 'ageing=(%d+)')) -- ms that weigh as much as a step (P4)
