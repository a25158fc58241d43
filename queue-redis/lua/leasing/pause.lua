-- pause: leases answer nothing until `resume`.
-- needs: META
-- Returns 1.
call('HSET', META, 'paused', 1)
return 1
