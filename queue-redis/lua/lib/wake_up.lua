-- A marker is a sorted set by which a change wakes up a waiting process. Its members are:
-- - a process's channel   the process waits until the score (ms), and the next change is published to it. Behind a
--                         blank may follow the lease that the process wants: see `hand_over`
-- - armed                 no process waited: minus the score is the number of changes that were not published
--
-- `armed` sorts first. It is beside channels only if the user may not publish. Markers hold only hints, never
-- messages.
-- gives: wake_up

-- Publishes `changes` to the waiting processes, split evenly. If none waits, arms the marker for the next one. A
-- channel without a listener belongs to a dead process, and is removed. With `left`, the change is work that a call
-- left behind. It was counted when it came, so it does not add up. Printing a sum as a fraction would also cost a
-- lease a twentieth of its time. With `may_hand_over`, returns the registration of the longest waiting process if it
-- wants a lease. Then nothing is published yet.
local function wake_up(marker, changes, left, may_hand_over)
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
        -- A user who may not publish leaves the marker armed, and waiting processes poll by a timer.
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
-- Handing over saves a round trip. The push itself leases its message to the process that waits longest, and
-- publishes the message to that process only. The message was never ready. Its lease is the same as by
-- `settle_and_lease` at this instant.
-- needs: ARRIVALS, DELAYED, FRAMES, LEASES, LINE, META, flags, next_due, wake_up
-- gives: hand_over
local SHORT = 4096 -- bytes of a frame: a published message goes to replicas, and to all nodes of a cluster

-- Leases a new message to a waiting process, or wakes up a process. Returns true if the message is leased. `ready` is
-- the key that the message belongs in otherwise. The published text begins with the registration that it is for;
-- `src/waiting/watch.rs` reads it. A queue with limits or rates hands over nothing: its leases are made in one place.
local function hand_over(number, frame, ready)
  local registration = wake_up(ARRIVALS, 1, false, true)
  if not registration then
    return false
  end
  local channel, serial, lease_time, holder = string.match(registration, '^(%S+) (%d+) (%d+) (.*)$')
  local listening -- at this server: a listener at another server gets the text too late
  local is_free = not string.find(flags, '[plr]') -- neither paused nor with limits or rates
  if channel and #frame <= SHORT and is_free and call('EXISTS', LINE, ready) == 0 then
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
    local left = call('ZSCORE', ARRIVALS, registration) - now
    local head = string.format('lease %s %d %d %s', serial, left, #ARRIVALS, ARRIVALS)
    local published = redis.pcall('PUBLISH', channel, head .. pack('>I7', token) .. frame)
    if type(published) == 'number' then
      call('ZREM', ARRIVALS, 'armed', registration)
      call('HSET', META, 'token', string.format('%d', token))
      if holder ~= '' and not string.find(flags, 'h', 1, true) then -- the first holder's name
        flags = flags .. 'h'
        call('HSET', META, 'flags', flags)
      end
      if deadline < next_due then
        next_due = deadline
        call('HSET', META, 'next_due', string.format('%d', deadline))
      end
      if call('EXISTS', DELAYED) == 1 then
        -- As after each lease: another process must learn the next due time.
        wake_up(ARRIVALS, 1, true)
      end
      return true
    end
    -- The user may not publish.
    call('ZREM', LEASES, lease)
    call('HDEL', FRAMES, id, 'h' .. id)
  end
  call('ZREM', ARRIVALS, 'armed')
  wake_up(ARRIVALS, 1)
  return false
end
