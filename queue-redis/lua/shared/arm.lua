-- A marker is where a waiting process and a change meet. It is a sorted set of
--   a process's channel   it waits, until the score (ms): the next change is published to it. Behind a blank
--                         may follow the terms of the lease that a message may be handed over by, see `hand_over`
--   armed                 nobody waited: minus the score is how many changes nobody was told of
-- `armed` sorts first, and stands beside channels only where they cannot be published to. All in a
-- marker are hints; no message is ever in it.
-- gives: arm

-- Tells processes that wait there of so many changes, and each how many are its share; or arms the
-- marker for who waits next. A channel that nobody listens to is a dead process's: it is passed over.
-- Whoever only finds work `left` behind does not count it: it was told of when it came, and counting costs a turn
-- a twentieth of its time, since the server prints the sum as a fraction. Whoever can hand a message over asks
-- for the registration of who waits longest, if that has terms: it is the answer, and nobody is told yet.
local function arm(marker, changes, left, may_hand_over)
  if left then
    if call('ZADD', marker, 'LT', changes == 1 and '-1' or -changes, 'armed') == 0 then
      return
    end
  elseif tonumber(call('ZINCRBY', marker, -changes, 'armed')) ~= -changes then
    return
  end
  while changes > 0 do
    local waiting = call('ZRANGE', marker, '1', changes)
    if not waiting[1] then
      return
    elseif may_hand_over and string.find(waiting[1], ' ', 1, true) then
      return waiting[1]
    end
    local share = math.ceil(changes / #waiting)
    for k = 1, #waiting do
      if changes > 0 then
        share = math.min(share, changes)
        -- A user who may not publish keeps the marker armed, and who waits looks by a timer.
        local channel = string.match(waiting[k], '^%S+')
        local listening = redis.pcall('PUBLISH', channel, share .. ' ' .. marker)
        if type(listening) == 'table' then
          return
        end
        call('ZREM', marker, waiting[k])
        changes = listening > 0 and changes - share or changes
      end
    end
  end
  call('ZREM', marker, 'armed')
end
