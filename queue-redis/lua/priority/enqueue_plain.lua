-- enqueue, as it mostly is: there is nothing to tidy, and no message says more than its payload and its
-- priority. Each function that follows costs a push as much as a command; this is before them all. The new frames
-- are put together here, by what `frames` tells.
-- needs: ARRIVALS, DEDUP, FRAMES, LINE, META, accepted, add_many, ageing, arm, hand_over, quiet_until
-- ARGV and what it returns: as for `enqueue`
if now < quiet_until and not DEDUP and #ARGV == 4 + ARGV[3] then
  local count, frames, places = tonumber(ARGV[3]), {}, {}
  local since, told, place = pack('>I7', now), nil, nil
  for k = 1, count do
    local id, biased = pack('>I7', accepted + k), sub(ARGV[4], 2 * k - 1, 2 * k)
    if biased ~= told then
      local priority = decode('>I2', biased) - 32768
      told, place = biased, string.format('%d', ageing and now - priority * ageing or -2 * priority)
    end
    frames[2 * k - 1], frames[2 * k] = id, '\0' .. id .. since .. biased .. since .. ARGV[4 + k]
    places[2 * k - 1], places[2 * k] = place, id
  end
  local handed_over = count == 1 and hand_over(accepted + 1, frames[2], LINE)
  call('HINCRBY', META, 'accepted', count)
  if not handed_over then
    call('HSET', FRAMES, unpack(frames))
    add_many(LINE, places)
  end
  if count > 1 then
    arm(ARRIVALS, count)
  end
  return accepted + count
end
