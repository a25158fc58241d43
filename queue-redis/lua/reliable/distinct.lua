-- A reliable queue has no distinct keys and no limit: there is nothing to do when messages leave for
-- good.
-- gives: gone
local function gone() end
