-- How a resize begins that belongs to an open: with the capacity that is stored it changes nothing, needs no
-- write, and tidies nothing.
-- needs: META
-- ARGV[3] capacity
-- ARGV[4] '' for an open
if ARGV[4] == '' and tonumber(call('HGET', META, 'capacity')) == tonumber(ARGV[3]) then
  return {}
end
