-- purge: removes messages that are ready, in delivery order, then delayed ones, by (due, id).
-- needs: forget, gone, take_out, tidy
-- ARGV[3] how many, no more than one call may
-- ARGV[4] there if this goes on with a purge that has begun
-- Returns how many it removed: fewer if there are no more.
if not ARGV[4] then
  tidy()
end
local ids, removed = take_out(tonumber(ARGV[3]), 'purged')
if ids[1] then
  gone(ids)
  forget(ids)
end
return removed
