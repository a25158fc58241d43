-- Removes nothing. After a first write that needs no memory, a server over its maxmemory lets the
-- rest of a script write too, so a full queue can be drained (L12). Pushes leave this out: they
-- have to fail before they write anything.
call('ZREM', ARRIVALS, '')
