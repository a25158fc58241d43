-- capacity: how many messages fit.
-- needs: META
-- Returns the stored capacity.
local capacity = call('HGET', META, 'capacity')
return tonumber(capacity)
  or redis.error_reply('QKDAMAGED the field capacity of ' .. META .. ' is not what queue-kit wrote')
