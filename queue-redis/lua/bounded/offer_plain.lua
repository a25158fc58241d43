-- offer, as it mostly is: there is nothing to tidy, no message says more than its payload, and there is room
-- for all. Each function that follows costs an offer as much as a command; this is before them all.
-- needs: ARRIVALS, DEDUP, DELAYED, FRAME, LEASES, LINE, META, READY, ROOM, accepted, arm, flags, hand_over
-- needs: quiet_until
-- ARGV and what it returns: as for `offer`
if now < quiet_until and not DEDUP and #ARGV == 5 + ARGV[3] and not string.find(flags, 'o', 1, true) then
  local count, fixed = tonumber(ARGV[3]), call('HMGET', META, 'capacity', 'surplus', 'uncounted')
  local occupied = call('LLEN', READY) + call('ZCARD', LINE) + call('ZCARD', LEASES) + call('ZCARD', DELAYED)
  occupied = occupied + (tonumber(fixed[3]) or 0)
  local room = (tonumber(fixed[1]) or 0) - occupied - count
  if room >= 0 and (fixed[2] or '0') == '0' then
    local frames = {}
    for k = 1, count do
      frames[k] = pack(FRAME, 0, accepted + k, now) .. ARGV[5 + k]
    end
    local handed_over = count == 1 and hand_over(accepted + 1, frames[1], READY)
    call('HINCRBY', META, 'accepted', count)
    if not handed_over then
      call('RPUSH', READY, unpack(frames))
    end
    if count > 1 then
      arm(ARRIVALS, count)
    end
    if room > 0 then
      arm(ROOM, math.min(MANY, room), true)
    end
    return accepted + count
  end
end
