-- len: how many items the ring has.
--
-- Returns the number.
return call('ZCARD', RING) + call('ZCARD', FRESH)
