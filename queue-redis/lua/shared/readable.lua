-- What `drainable` does, for a verb that only reads: where the server takes no writes for now, it
-- leaves out the tidying and answers by what is stored. Not on a replica: its data may be old, and
-- the error leads the client to the primary. What else is wrong is told as by `drainable`.
-- needs: ARRIVALS, META
-- gives: writable, meta
local writable = true
local written = redis.pcall('ZREM', ARRIVALS, '')
if type(written) == 'table' and written.err then
  if not (string.find(written.err, 'NOREPLICAS', 1, true) or string.find(written.err, 'MISCONF', 1, true)) then
    call('ZREM', ARRIVALS, '')
  end
  writable = false
end
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet')
