-- resume: hands out messages again, and wakes who waits.
-- needs: ARRIVALS, META, arm, flags
-- Returns 1.
local others = string.gsub(flags, 'p', '')
if others == '' then
  call('HDEL', META, 'flags')
else
  call('HSET', META, 'flags', others)
end
arm(ARRIVALS, MANY)
return 1
