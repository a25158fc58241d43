-- purge: removes messages that are ready, in delivery order, then delayed ones, by (due, id).
-- needs: DELAYED, META, drop, forget, gone, id_of, pick, tidy
-- ARGV[3] how many at most
-- Returns how many.
tidy()
local max, removed = tonumber(ARGV[3]), 0

local function remove(ids)
  if ids[1] then
    gone(ids)
    forget(ids)
  end
end

while removed < max do
  local picked = pick(math.min(MANY, max - removed))
  if not picked.frames[1] then
    drop(picked)
    break
  end
  local ids = {}
  for k = 1, #picked.frames do
    ids[k] = id_of(picked.frames[k])
  end
  drop(picked)
  remove(ids)
  removed = removed + #ids
end
while removed < max do
  local ids = call('ZRANGE', DELAYED, 0, math.min(MANY, max - removed) - 1)
  if not ids[1] then
    break
  end
  call('ZREM', DELAYED, unpack(ids))
  remove(ids)
  removed = removed + #ids
end
if removed > 0 then
  call('HINCRBY', META, 'purged', removed)
end
return removed
