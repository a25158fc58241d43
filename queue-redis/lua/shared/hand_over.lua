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
