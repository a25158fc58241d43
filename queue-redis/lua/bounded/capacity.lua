-- capacity: how many messages fit.
-- needs: META
-- Returns the stored capacity.
return tonumber(call('HGET', META, 'capacity'))
