-- cancel: takes undelivered messages out (D4).
-- needs: FRAMES, LINE, META, tidy
-- ARGV[3 …] ids
-- Returns one letter each: c cancelled, t too late.
tidy()
local answers, ids = {}, {}
for k = 3, #ARGV do
  if call('ZREM', LINE, ARGV[k]) == 1 then
    answers[k - 2] = 'c'
    ids[#ids + 1] = ARGV[k]
  else
    answers[k - 2] = 't'
  end
end
if ids[1] then
  call('HDEL', FRAMES, unpack(ids))
  call('HINCRBY', META, 'cancelled', #ids)
end
return table.concat(answers)
