-- Ending leases of messages that stay.
-- needs: FRAMES, LEASES, holders
-- gives: end_leases
local function end_leases(members)
  call('ZREM', LEASES, unpack(members))
  if holders then
    local names = {}
    for k = 1, #members do
      names[k] = 'h' .. sub(members[k], 1, 7)
    end
    call('HDEL', FRAMES, unpack(names))
  end
end
