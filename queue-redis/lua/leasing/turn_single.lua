-- turn, as it mostly is (see `single`).
-- needs: ARRIVALS, DELAYED, FRAMES, ID, LEASES, LINE, META, SINCE, ack, acked, arm, last_token, makes_room
-- needs: next_frame, next_kept, next_list, next_place, none_ready, quiet_until, single, wants
-- ARGV and what it returns: as for `turn`
if next_frame or none_ready or single and not wants then
  local reply = { '', 0, -1 }
  if ack and call('ZREM', LEASES, ack) == 1 then
    call('HDEL', FRAMES, sub(ack, 1, 7), 'h' .. sub(ack, 1, 7))
    if makes_room then
      arm(makes_room, 1)
    end
    reply[1], acked = 'd', acked + 1
    if not next_frame then
      call('HSET', META, 'acked', string.format('%d', acked))
    end
  elseif ack then
    reply[1] = 'l'
  end
  if next_frame then
    local id, token = sub(next_frame, ID, SINCE - 1), math.max(last_token + 1, now_micros)
    local deadline = string.format('%d', now + ARGV[4])
    if ARGV[5] ~= '' then
      next_kept[#next_kept + 1], next_kept[#next_kept + 2] = 'h' .. id, ARGV[5]
    end
    if next_kept[1] then
      call('HSET', FRAMES, unpack(next_kept))
    end
    call('ZADD', LEASES, deadline, id .. pack('>I7', token))
    if next_list then
      call('LTRIM', next_list, '1', '-1')
    else
      call('ZREM', LINE, next_place)
    end
    if call('EXISTS', next_list or LINE, DELAYED) > 0 then
      arm(ARRIVALS, 1)
    end
    call('HSET', META, 'token', string.format('%d', token), 'acked', string.format('%d', acked))
    if now + ARGV[4] < quiet_until then
      call('HSET', META, 'quiet', deadline)
    end
    reply[2], reply[4] = token, next_frame
  elseif none_ready then
    local expires = tonumber(call('ZRANGE', LEASES, '0', '0', 'WITHSCORES')[2]) or math.huge
    local due = tonumber(call('ZRANGE', DELAYED, '0', '0', 'WITHSCORES')[2]) or math.huge
    local first = math.min(expires, due)
    reply[3] = first <= 9007199254740991 and math.max(first - now, 0) or -1
    -- Something is over, and nobody looked: the noted time is damaged.
    if reply[3] == 0 then
      call('HSET', META, 'quiet', '0')
    end
  end
  return reply
end
