-- Who holds a lease, if its holder gave a name: FRAMES keeps it under 'h' and the id, as long as the lease
-- lives.
-- needs: FRAMES, LEASES, meta
-- gives: holders, done_with, end_leases
local holders = meta[4] -- whether any ever gave a name

-- Forgets messages that were leased and are gone.
local function done_with(ids)
  local fields = ids
  if holders then
    fields = { unpack(ids) }
    for k = 1, #ids do
      fields[#ids + k] = 'h' .. ids[k]
    end
  end
  call('HDEL', FRAMES, unpack(fields))
end

-- Ends these leases, of messages that stay.
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
