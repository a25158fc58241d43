-- capacity: how many messages fit.
--
-- Returns the stored capacity.
return tonumber(call('HGET', META, 'capacity'))
