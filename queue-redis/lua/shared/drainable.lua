-- How a verb begins that puts nothing in. The first line removes nothing: after a first write that
-- needs no memory, a server over its maxmemory lets the rest of a script write too, so a full queue
-- can be drained (L12).
-- needs: ARRIVALS, META
-- gives: meta
call('ZREM', ARRIVALS, '')
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet', 'token', 'acked')
