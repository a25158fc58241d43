-- resume: hands out messages again, and wakes who waits.
--
-- Returns 1.
call('HDEL', META, 'paused')
call('ZADD', ARRIVALS, '0', 'armed')
return 1
