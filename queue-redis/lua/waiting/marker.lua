-- Registrations at a marker, see `lib/wake_up`: `join` and `forward`.
--- @include "lib/call"

--- @part "join"
-- join: registers a waiting process at a marker. Fetches the changes that were not published; that many callers poll
-- at once. If more callers wait, the process is registered, and the next change is published to it. If the queue does
-- not exist, all callers poll, which creates it again. Nothing stays of a removed queue.
-- KEYS[1] the marker
-- KEYS[2] meta of its queue
-- KEYS[3] the results of its queue, if it is the end marker of a message, `…:end-<id>`. Such a marker expires with its
--   registrations: it may be that no result ever comes
-- ARGV[1] see `lib/call`
-- ARGV[2] registration: the process's channel; behind a blank, the lease that its longest waiting caller wants, see
--   `hand_over`
-- ARGV[3] waiting: the number of callers that wait in the process
-- ARGV[4] patience: how long the registration lives, in ms
-- ARGV[5] its earlier registration, if that was another
-- Returns the number of changes that were not published.
local marker, waiting = KEYS[1], tonumber(ARGV[3])
if call('EXISTS', KEYS[2]) == 0 then
  return waiting
end
local awaited = string.match(marker, ':end%-(%x+)$')
if awaited and call('HEXISTS', KEYS[3], pack('>I7', tonumber(awaited, 16))) == 1 then
  return waiting
end

-- The first write needs no memory, so consumers of a full server can wait.
call('ZREM', marker, ARGV[5] or '')
local changes = -(tonumber(call('ZSCORE', marker, 'armed')) or 0)
if changes > 0 then
  call('ZREM', marker, 'armed')
end
if changes < waiting then
  -- Removes registrations of processes that died while nothing changed.
  call('ZREMRANGEBYSCORE', marker, '0', now_text)
  call('ZADD', marker, now + tonumber(ARGV[4]), ARGV[2])
  if awaited then
    call('PEXPIRE', marker, ARGV[4])
  end
end
return changes

--- @part "forward"
-- forward: wakes up other processes at a marker, or arms it, because no caller of this process needs the changes. If
-- the queue does not exist, nothing stays of it. It does nothing at an end marker: the ack told all processes at once,
-- and a later process finds the result.
-- KEYS[1] the marker
-- KEYS[2] meta of its queue
-- ARGV[1] see `lib/call`
-- ARGV[2] changes: their number
-- Returns 1.
-- needs: wake_up
--- @include "lib/wake_up"
if call('EXISTS', KEYS[2]) == 1 and not string.find(KEYS[1], ':end%-%x+$') then
  call('ZREM', KEYS[1], '')
  wake_up(KEYS[1], tonumber(ARGV[2]))
end
return 1
