-- extend: lets a live claim end at now + claim_time.
-- needs: CLAIMED, held, key
-- ARGV[5] claim_time in ms
-- Returns 1, or 0 if the claim is lost.
if not held then
  return 0
end
call('ZADD', CLAIMED, now + tonumber(ARGV[5]), key)
return 1
