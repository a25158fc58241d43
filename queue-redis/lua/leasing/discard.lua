-- discard: removes dead letters for good.
-- needs: DEAD, META, forget, tidy
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
  call('HINCRBY', META, 'discarded', #ids)
end
return #ids
