-- len: how many items the ring has.
-- needs: FRESH, RING
-- Returns the number.
return call('ZCARD', RING) + call('ZCARD', FRESH)
