-- capacity: how many messages fit.
-- needs: META, unreadable
-- Returns the stored capacity.
local capacity = call('HGET', META, 'capacity')
return tonumber(capacity) or unreadable(capacity)
