-- pass_on: tells others who wait at a marker, or arms it: nobody in this process can use what it was
-- told of.
-- needs: arm
-- KEYS[1] the marker
-- ARGV[2] how many changes
-- Returns 1.
call('ZREM', KEYS[1], '')
arm(KEYS[1], tonumber(ARGV[2]))
return 1
