-- push, as it mostly is: there is nothing to tidy, and no message says more than its payload. Each function
-- that follows costs a push as much as a command; this is before them all.
-- needs: ARRIVALS, DEDUP, FRAME, META, PACK, READY, accepted, arm, flags, hand_over, quiet_until
-- ARGV and what it returns: as for `push`
local packs = ARGV[3] == 'packs'
if now < quiet_until and not DEDUP and (packs or #ARGV == 3 + ARGV[3]) then
  local frames, last = {}, accepted
  for k = 4, #ARGV do
    if packs then
      local count = byte(ARGV[k], 2)
      frames[2 * k - 7], frames[2 * k - 6] = pack(FRAME .. 'B', PACK, last + 1, now, count), ARGV[k]
      last = last + count
    else
      last = last + 1
      frames[k - 3] = pack(FRAME, 0, last, now) .. ARGV[k]
    end
  end
  local one = not packs and #ARGV == 4
  local handed_over = one and hand_over(last, frames[1], READY)
  call('HINCRBY', META, 'accepted', last - accepted)
  if packs then
    call('HINCRBY', META, 'packed', last - accepted - #frames)
    if not string.find(flags, 'k', 1, true) then
      call('HSET', META, 'flags', flags .. 'k')
    end
  end
  if not handed_over then
    call('RPUSH', READY, unpack(frames))
  end
  if not one then
    arm(ARRIVALS, last - accepted)
  end
  return last
end
