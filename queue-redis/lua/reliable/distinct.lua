-- A reliable queue has no distinct keys and no limit: nothing to do when messages find a place or
-- leave for good.
local function placed() end
local function gone() end
