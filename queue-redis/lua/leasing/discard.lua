-- discard: removes dead letters for good.
-- needs: DEAD, add_to, forget, tidy
-- ARGV[3 …] ids
-- Returns how many there were.
tidy()
local ids = {}
for k = 3, #ARGV do
  if call('ZREM', DEAD, ARGV[k]) == 1 then
    ids[#ids + 1] = ARGV[k]
  end
end
if ids[1] then
  forget(ids)
  add_to('discarded', #ids)
end
return #ids
