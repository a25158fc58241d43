-- pass_on: tells others who wait at a marker, or arms it: nobody in this process can use what it was
-- told of. Where there is no queue, nobody can, and nothing is left of one that was removed.
-- needs: arm
-- KEYS[1] the marker
-- KEYS[2] meta of its queue
-- ARGV[2] how many changes
-- Returns 1.
if call('EXISTS', KEYS[2]) == 1 then
  call('ZREM', KEYS[1], '')
  arm(KEYS[1], tonumber(ARGV[2]))
end
return 1
