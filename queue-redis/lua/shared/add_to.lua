-- Counting in META.
-- needs: META
-- gives: add_to

-- Adds to a number in META, and answers it. One that is none any more begins anew.
local function add_to(field, by)
  local counted = redis.pcall('HINCRBY', META, field, by)
  if type(counted) ~= 'table' then
    return counted
  elseif string.find(counted.err, 'not an integer', 1, true) or string.find(counted.err, 'overflow', 1, true) then
    call('HSET', META, field, by)
    return by
  end
  return call('HINCRBY', META, field, by)
end
