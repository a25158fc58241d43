-- pause: leases answer nothing until `resume`.
-- needs: META, flags
-- Returns 1.
if not string.find(flags, 'p', 1, true) then
  call('HSET', META, 'flags', flags .. 'p')
end
return 1
