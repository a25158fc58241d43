-- Whether there is nothing to reclaim, to promote or to end, which is what most calls find: two looks,
-- and what would do it is not even set up.
-- needs: ENDS, LEASES, PROMOTED, limited
-- gives: quiet
local quiet = call('ZCOUNT', LEASES, '-inf', now_text) == 0
  and not (PROMOTED and call('ZCOUNT', PROMOTED, '-inf', now_text) > 0)
  and not (limited and call('ZCOUNT', ENDS, '-inf', now_text) > 0)
