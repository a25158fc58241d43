-- Leases the messages that `{kind}/queue#fast_lease` found, or reads the time until the next change.
-- needs: ARRIVALS, BATCH_LEASES, DELAYED, FRAMES, ID, LEASES, LINE, META, SINCE, acked, acked_now, add_many, deadline
-- needs: fast, first_number, frames_back, frames_in_pack, gapless, lease_time, next_due, next_list, next_places
-- needs: reply, size, taken, taken_elements, taken_packed, token, wake_up, wants
if fast and taken > 0 then
  local holder = ARGV[5]
  local fields = { nil, nil, nil, nil } -- fields that FRAMES does not have yet
  -- A batch lease stores the frames of a list once more. The server reads each byte of them, so long ones cost more
  -- than the batch lease saves.
  local may_batch = taken >= 4 and ARGV[6] == '1'
  if may_batch and (not next_list or gapless and size <= 1024 * taken) then
    local batch = pack('>I7I7B', first_number, token, taken)
    if not gapless then
      batch = batch .. table.concat(next_places, '', 1, taken)
    end
    if next_list then
      fields[1], fields[2] = batch, cmsgpack.pack({ unpack(reply, 4) })
    end
    if holder ~= '' then
      fields[#fields + 1], fields[#fields + 2] = 'h' .. batch, holder
    end
    call('ZADD', LEASES, deadline, batch)
    call('ZADD', BATCH_LEASES, string.format('%d', token), batch)
    call('HINCRBY', META, 'uncounted', taken - 1)
    reply[3] = reply[3] - 1
  else
    local leases = { nil, nil }
    local frames, before_first = reply, 3
    if taken_packed then
      frames, before_first = {}, 0
      local k = 4
      while reply[k] do
        local own, used = frames_in_pack(reply[k], reply[k + 1])
        for _, frame in ipairs(own or { reply[k] }) do
          frames[#frames + 1] = frame
        end
        k = k + (used or 1)
      end
    end
    for k = 1, taken do
      local frame = frames[before_first + k]
      local id = sub(frame, ID, SINCE - 1)
      leases[2 * k - 1], leases[2 * k] = deadline, id .. pack('>I7', token + k - 1)
      if next_list then
        fields[2 * k - 1], fields[2 * k] = id, frame
      end
    end
    local before = #fields
    for k = 2, holder ~= '' and 2 * taken or 0, 2 do
      fields[before + k - 1], fields[before + k] = 'h' .. sub(leases[k], 1, 7), holder
    end
    add_many(LEASES, leases)
  end
  if fields[1] then
    call('HSET', FRAMES, unpack(fields))
  end
  if next_list then
    call('LTRIM', next_list, taken_elements == 1 and '1' or taken_elements, '-1')
    if frames_back then
      call('LPUSH', next_list, unpack(frames_back))
    end
    if taken_packed then
      call('HINCRBY', META, 'packed', taken_packed)
    end
  else
    call('ZREM', LINE, unpack(next_places, 1, taken))
  end
  if call('EXISTS', next_list or LINE, DELAYED) > 0 then
    wake_up(ARRIVALS, 1, true)
  end
  local last = string.format('%d', token + taken - 1)
  call('HSET', META, 'token', last, 'acked', string.format('%d', acked + acked_now))
  if now + lease_time < next_due then
    call('HSET', META, 'next_due', deadline)
  end
  reply[2] = token
elseif fast then
  if acked_now > 0 then
    call('HSET', META, 'acked', string.format('%d', acked + acked_now))
  end
  if wants > 0 then
    local expires = tonumber(call('ZRANGE', LEASES, '0', '0', 'WITHSCORES')[2]) or math.huge
    local due = tonumber(call('ZRANGE', DELAYED, '0', '0', 'WITHSCORES')[2]) or math.huge
    local soonest = math.min(expires, due)
    reply[3] = soonest <= 9007199254740991 and math.max(soonest - now, 0) or -1
    -- The time has come, and no call has searched: the stored `next_due` is damaged.
    if reply[3] == 0 then
      call('HSET', META, 'next_due', '0')
    end
  end
end
