-- finish: ends a live claim and marks its key as done; again, it changes nothing (O3).
-- needs: CLAIMED, DONE, held, key, live, ours
-- ARGV[5] how long to keep the mark, in ms
-- Returns 1, or 0 if the claim is lost.
if not held then
  return ours and live(DONE, key) and 1 or 0
end
call('ZADD', DONE, now + tonumber(ARGV[5]), key)
call('ZREM', CLAIMED, key)
return 1
