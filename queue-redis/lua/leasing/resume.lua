-- resume: hands out messages again, and wakes who waits.
--
-- Returns 1.
call('HDEL', META, 'paused')
arm(ARRIVALS, MANY)
return 1
