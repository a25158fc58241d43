-- A reliable queue has no distinct keys: nothing to do when messages find a new place.
local function placed() end
