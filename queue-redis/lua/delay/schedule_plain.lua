-- schedule, as it mostly is: there is nothing to tidy, and no message says more than its payload and its due
-- time. Each function that follows costs a push as much as a command; this is before them all.
-- needs: ARRIVALS, DEDUP, FRAME, FRAMES, LINE, META, accepted, add_many, arm, quiet_until
-- ARGV and what it returns: as for `schedule`
if now < quiet_until and not DEDUP and #ARGV == 4 + ARGV[3] then
  local count, frames, places, first_due, ready = tonumber(ARGV[3]), {}, {}, math.huge, 0
  for k = 1, count do
    local absolute, due = decode('>BI7', ARGV[4], 8 * k - 7)
    due = absolute == 1 and math.max(due, now) or now + due
    local id = pack('>I7', accepted + k)
    frames[2 * k - 1] = id
    frames[2 * k] = pack(FRAME, 0, accepted + k, now) .. ARGV[4 + k]
    places[2 * k - 1] = due
    places[2 * k] = id
    first_due = math.min(first_due, due)
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
