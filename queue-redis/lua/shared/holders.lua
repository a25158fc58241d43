-- Who holds a lease, if its holder gave a name: FRAMES keeps it under 'h' and the id, as long as the lease
-- lives.
-- needs: flags
-- gives: holders, with_holders
local holders = string.find(flags, 'h', 1, true) -- whether any ever gave a name

-- These ids, and the names of who holds them, as fields of FRAMES.
local with_holders = holders and function(ids)
  local fields = { unpack(ids) }
  for k = 1, #ids do
    fields[#ids + k] = 'h' .. ids[k]
  end
  return fields
end
