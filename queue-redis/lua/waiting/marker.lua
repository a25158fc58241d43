-- Markers.
--- @include "lib/call"

--- @part "join"
-- join: registers a process as one that waits at a marker.
--
-- KEYS[1] the marker
-- KEYS[2] meta of its queue
-- ARGV[2] the process's channel; behind a blank, the terms of who waits longest there, see `hand_over`
-- ARGV[3] how many wait in it
-- ARGV[4] for how long the registration lives, in ms
-- ARGV[5] its registration before, if that was another
-- Returns how many changes nobody was told of so far: so many of them look at once. If more wait
-- than that, the process is registered, and the next change is published to it. Where there is no
-- queue, all look, which makes it anew; and nothing is left of one that was removed.
local marker, waiting = KEYS[1], tonumber(ARGV[3])
if call('EXISTS', KEYS[2]) == 0 then
  return waiting
end
-- A first write that needs no memory, so that a full server lets consumers wait.
call('ZREM', marker, ARGV[5] or '')
local changes = -(tonumber(call('ZSCORE', marker, 'armed')) or 0)
if changes > 0 then
  call('ZREM', marker, 'armed')
end
if changes < waiting then
  -- What processes have left that died while nothing changed.
  call('ZREMRANGEBYSCORE', marker, '0', now_text)
  call('ZADD', marker, now + tonumber(ARGV[4]), ARGV[2])
end
return changes

--- @part "pass_on"
-- pass_on: tells others who wait at a marker, or arms it: nobody in this process can use what it was
-- told of. Where there is no queue, nobody can, and nothing is left of one that was removed.
-- KEYS[1] the marker
-- KEYS[2] meta of its queue
-- ARGV[2] how many changes
-- Returns 1.
-- needs: arm
--- @include "lib/wake_up"
if call('EXISTS', KEYS[2]) == 1 then
  call('ZREM', KEYS[1], '')
  arm(KEYS[1], tonumber(ARGV[2]))
end
return 1
