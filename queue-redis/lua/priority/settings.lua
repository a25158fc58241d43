-- What is stored of a priority queue alone.
-- gives: ageing
local ageing = tonumber(string.match(ARGV[2], 'ageing=(%d+)')) -- ms that weigh as much as a step (P4)
