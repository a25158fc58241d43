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

--- @part "hand_over"
-- A wake-up of one trip: the push itself leases its message to who waits longest, if that waits for a message to
-- lease, and publishes it to that one's process. So the message was never ready, and is leased as a turn at this
-- instant would lease it.
-- needs: ARRIVALS, DELAYED, FRAMES, LEASES, LINE, META, arm, flags, quiet_until
-- gives: hand_over
local SHORT = 4096 -- bytes of a frame: what is published goes to replicas, and to all nodes of a cluster

-- Leases a new message that nothing stands before, or tells of it. Answers whether it is leased. `ready` is where it
-- stands otherwise. The message that is published begins with what the process needs to find out for whom it is, and
-- `src/waiting/watch.rs` reads it.
local function hand_over(number, frame, ready)
  local who = arm(ARRIVALS, 1, false, true)
  if not who then
    return false
  end
  local channel, serial, lease_time, holder = string.match(who, '^(%S+) (%d+) (%d+) (.*)$')
  local listening -- at this server: what is published reaches others, too, and is too late there
  if channel and #frame <= SHORT and not string.find(flags, 'p', 1, true) and call('EXISTS', LINE, ready) == 0 then
    listening = redis.pcall('PUBSUB', 'NUMSUB', channel)[2]
  end
  if listening and listening > 0 then
    local id, deadline = pack('>I7', number), now + lease_time
    local token = tonumber(call('HGET', META, 'token') or 0) or 0
    token = math.max(token < 9007199254740000 and token + 1 or 0, now_micros)
    local lease = id .. pack('>I7', token)
    call('ZADD', LEASES, string.format('%d', deadline), lease)
    call('HSET', FRAMES, id, frame)
    if holder ~= '' then
      call('HSET', FRAMES, 'h' .. id, holder)
    end
    local left = call('ZSCORE', ARRIVALS, who) - now
    local head = string.format('lease %s %d %d %s', serial, left, #ARRIVALS, ARRIVALS)
    local published = redis.pcall('PUBLISH', channel, head .. pack('>I7', token) .. frame)
    if type(published) == 'number' then
      call('ZREM', ARRIVALS, 'armed', who)
      call('HSET', META, 'token', string.format('%d', token))
      if holder ~= '' and not string.find(flags, 'h', 1, true) then
        flags = flags .. 'h'
        call('HSET', META, 'flags', flags)
      end
      if deadline < quiet_until then
        quiet_until = deadline
        call('HSET', META, 'quiet', string.format('%d', deadline))
      end
      if call('EXISTS', DELAYED) == 1 then
        -- As after a turn: another has to know when the next is due.
        arm(ARRIVALS, 1, true)
      end
      return true
    end
    -- The user may not publish.
    call('ZREM', LEASES, lease)
    call('HDEL', FRAMES, id, 'h' .. id)
  end
  call('ZREM', ARRIVALS, 'armed')
  arm(ARRIVALS, 1)
  return false
end
