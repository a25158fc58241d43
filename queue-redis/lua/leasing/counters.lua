-- counters: what the queue holds and has done; `depth` is read from it too.
-- needs: DEAD, DEDUP, DELAYED, LEASES, META, accepted, clear_marks, in_line
-- needs: oldest_since, tidy, writable
-- Returns {ready, delayed, leased, dead, dedup marks, ms that the oldest has been ready or -1,
-- 1 if paused, accepted, acked, retried, deferred, released, expired, died, revived, evicted,
-- replaced, cancelled, discarded, trimmed, purged}. What is still expired or due counts as ready.
if writable then
  tidy()
  clear_marks()
end
local counted = call('HMGET', META, 'retried', 'deferred', 'released', 'expired', 'died', 'revived', 'evicted',
  'replaced', 'cancelled', 'discarded', 'trimmed', 'purged', 'acked', 'paused')
local leased = call('ZCOUNT', LEASES, '(' .. now_text, '+inf')
local delayed = call('ZCOUNT', DELAYED, '(' .. now_text, '+inf')
local ready = in_line() + call('ZCARD', LEASES) - leased + call('ZCARD', DELAYED) - delayed
local since = oldest_since()
local reply = {
  ready, delayed, leased, call('ZCARD', DEAD), call('ZCARD', DEDUP),
  since and math.max(now - since, 0) or -1, counted[14] and 1 or 0, accepted, tonumber(counted[13]) or 0,
}
for k = 1, 12 do
  reply[9 + k] = tonumber(counted[k]) or 0
end
return reply
