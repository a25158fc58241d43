-- A reliable queue has no distinct keys and no limit: nothing to do when messages leave for good.
local function gone() end
