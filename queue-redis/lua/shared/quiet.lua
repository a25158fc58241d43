-- Whether there is nothing to reclaim or to promote, which is what most calls find: two looks,
-- and what would do it is not even set up.
-- needs: LEASES, PROMOTED
-- gives: quiet
local quiet = call('ZCOUNT', LEASES, '-inf', now_text) == 0
  and not (PROMOTED and call('ZCOUNT', PROMOTED, '-inf', now_text) > 0)
