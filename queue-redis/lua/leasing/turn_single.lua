-- turn, as it mostly is (see `single`).
-- needs: ARRIVALS, FRAMES, ID, LEASES, META, SINCE, ack, acked, arm, find_ahead, last_token, makes_room
-- needs: next_frame, next_kept, take_next
-- ARGV and what it returns: as for `turn`
if next_frame then
  local answer, done = '', 0
  if ack and call('ZREM', LEASES, ack) == 1 then
    call('HDEL', FRAMES, sub(ack, 1, 7), 'h' .. sub(ack, 1, 7))
    if makes_room then
      arm(makes_room, 1)
    end
    answer, done = 'd', 1
  elseif ack then
    answer = 'l'
  end
  local id, token = sub(next_frame, ID, SINCE - 1), math.max(last_token + 1, now_micros)
  if ARGV[5] ~= '' then
    next_kept[#next_kept + 1], next_kept[#next_kept + 2] = 'h' .. id, ARGV[5]
  end
  if next_kept[1] then
    call('HSET', FRAMES, unpack(next_kept))
  end
  call('ZADD', LEASES, string.format('%d', now + ARGV[4]), id .. pack('>I7', token))
  call(unpack(take_next))
  if call(unpack(find_ahead)) > 0 then
    arm(ARRIVALS, 1)
  end
  call('HSET', META, 'token', string.format('%d', token), 'acked', string.format('%d', acked + done))
  return { answer, token, -1, next_frame }
end
