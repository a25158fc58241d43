-- turn, as it mostly is (see `usual`), once its acks are done.
-- needs: ARRIVALS, DELAYED, FRAMES, LEASES, LINE, META, acked, acked_now, add_many, arm, deadline, leases, new_fields
-- needs: next_list, next_places, quiet_until, reply, taken, token, ttl, usual, wants
-- ARGV and what it returns: as for `turn`
if usual and taken > 0 then
  local fields = #new_fields
  for k = 2, ARGV[5] ~= '' and 2 * taken or 0, 2 do
    new_fields[fields + k - 1], new_fields[fields + k] = 'h' .. sub(leases[k], 1, 7), ARGV[5]
  end
  if new_fields[1] then
    call('HSET', FRAMES, unpack(new_fields))
  end
  add_many(LEASES, leases)
  if next_list then
    call('LTRIM', next_list, taken == 1 and '1' or taken, '-1')
  else
    call('ZREM', LINE, unpack(next_places, 1, taken))
  end
  if call('EXISTS', next_list or LINE, DELAYED) > 0 then
    arm(ARRIVALS, 1)
  end
  local last = string.format('%d', token + taken - 1)
  call('HSET', META, 'token', last, 'acked', string.format('%d', acked + acked_now))
  if now + ttl < quiet_until then
    call('HSET', META, 'quiet', deadline)
  end
  reply[2] = token
  return reply
end
if usual then
  if acked_now > 0 then
    call('HSET', META, 'acked', string.format('%d', acked + acked_now))
  end
  if wants > 0 then
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
