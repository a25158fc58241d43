-- turn, as it mostly is (see `single`).
-- needs: ARRIVALS, FRAMES, ID, LEASES, META, SINCE, ack, find_ahead, arm, next_kept, makes_room, meta, next_frame
-- needs: take_next
-- ARGV and what it returns: as for `turn`
if next_frame then
  local answer, acked = '', tonumber(meta[6]) or 0
  if ack and call('ZREM', LEASES, ack) == 1 then
    local done = sub(ack, 1, 7)
    call('HDEL', FRAMES, done, 'h' .. done)
    if makes_room then
      arm(makes_room, 1)
    end
    answer, acked = 'd', acked + 1
  elseif ack then
    answer = 'l'
  end
  local id, token = sub(next_frame, ID, SINCE - 1), math.max((tonumber(meta[5]) or 0) + 1, now_micros)
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
  call('HSET', META, 'token', string.format('%d', token), 'acked', string.format('%d', acked))
  return { answer, token, -1, next_frame }
end
