-- push, as it mostly is: there is nothing to tidy, and no message says more than its payload. Each function
-- that follows costs a push as much as a command; this is before them all.
-- needs: ARRIVALS, DEDUP, FRAME, META, READY, accepted, arm, quiet_until
-- ARGV and what it returns: as for `push`
if now < quiet_until and not DEDUP and #ARGV == 3 + ARGV[3] then
  local count, frames = tonumber(ARGV[3]), {}
  for k = 1, count do
    frames[k] = pack(FRAME, 0, accepted + k, now) .. ARGV[3 + k]
  end
  call('HINCRBY', META, 'accepted', count)
  call('RPUSH', READY, unpack(frames))
  arm(ARRIVALS, count)
  return accepted + count
end
