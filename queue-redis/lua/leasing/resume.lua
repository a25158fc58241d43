-- resume: hands out messages again, and wakes who waits.
-- needs: ARRIVALS, META, arm
-- Returns 1.
call('HDEL', META, 'paused')
arm(ARRIVALS, MANY)
return 1
