-- Refuses to touch what is not queue-kit's.
-- ARGV[4 …] the type that each key has
-- Errors: WRONGTYPE  a key holds another type.
for k = 1, #KEYS do
  local found = redis.call('TYPE', KEYS[k]).ok
  if found ~= 'none' and found ~= ARGV[k + 3] then
    return redis.error_reply('WRONGTYPE the key ' .. KEYS[k] .. ' holds a ' .. found .. ', where a ' .. ARGV[k + 3]
      .. ' belongs')
  end
end
