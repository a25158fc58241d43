-- cancel: takes undelivered messages out (L15).
-- needs: accepted, add_to, forget, gone, tidy, withdraw
-- ARGV[3 …] ids
-- Returns one letter each: c cancelled, t too late, n never was.
tidy()
local answers, ids = {}, {}
for k = 3, #ARGV do
  local number = decode('>I7', ARGV[k])
  if number == 0 or number > accepted then
    answers[k - 2] = 'n'
  elseif withdraw(ARGV[k]) then
    answers[k - 2] = 'c'
    ids[#ids + 1] = ARGV[k]
  else
    answers[k - 2] = 't'
  end
end
if ids[1] then
  gone(ids)
  forget(ids)
  add_to('cancelled', #ids)
end
return table.concat(answers)
