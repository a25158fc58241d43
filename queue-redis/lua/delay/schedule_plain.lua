-- schedule, as it mostly is: there is nothing to tidy, and no message says more than its payload and its due
-- time. Each function that follows costs a push as much as a command; this is before them all. The new frames are
-- put together here, by what `frames` tells.
-- needs: ARRIVALS, DEDUP, FRAMES, LINE, META, accepted, add_many, arm, quiet_until
-- ARGV and what it returns: as for `schedule`
if now < quiet_until and not DEDUP and #ARGV == 4 + ARGV[3] then
  local count, frames, places, first_due, ready = tonumber(ARGV[3]), {}, {}, math.huge, 0
  local since, told, due, due_text = pack('>I7', now), nil, nil, nil
  for k = 1, count do
    -- Those of a batch are mostly due together.
    local asked = sub(ARGV[4], 8 * k - 7, 8 * k)
    if asked ~= told then
      local absolute, time = decode('>BI7', asked)
      due = absolute == 1 and math.max(time, now) or now + time
      told, due_text, first_due = asked, string.format('%d', due), math.min(first_due, due)
    end
    local id = pack('>I7', accepted + k)
    frames[2 * k - 1], frames[2 * k] = id, '\0' .. id .. since .. ARGV[4 + k]
    places[2 * k - 1], places[2 * k] = due_text, id
    ready = due <= now and ready + 1 or ready
  end
  local head = tonumber(call('ZRANGE', LINE, '0', '0', 'WITHSCORES')[2])
  call('HINCRBY', META, 'accepted', count)
  call('HSET', FRAMES, unpack(frames))
  add_many(LINE, places)
  -- Tells those who sleep towards a later due time, or towards none (D5).
  if not head or first_due < head or ready > 0 then
    arm(ARRIVALS, math.max(1, ready))
  end
  return accepted + count
end
