-- A reliable queue has no distinct keys and no limit: there is nothing to do when messages leave for
-- good, nor when they find a new place.
-- gives: gone, placed
local function nothing() end
local gone, placed = nothing, nothing
