-- Acks, while no lease is expired, so that whatever is in LEASES is live. Reading 128 deadlines costs the server
-- more than all the rest, so a receipt without a lease is told in another way: it is put there for a moment,
-- with a score that no lease has.
-- needs: FRAMES, LEASES, arm, ending, flags, for_several, forgotten, makes_room, only_acks, plain, reply, settlements
-- needs: taken, usual, wants
-- gives: acked_now
-- Returns FEW as `turn` does.
local acked_now = 0 -- how many were acked here
if for_several and usual and taken < wants then
  return redis.status_reply('FEW')
end
-- Nothing may be done for several callers before it is known whether there are enough.
only_acks = only_acks and (usual or not for_several)
if only_acks and settlements > 0 then
  local lost -- receipts that have no lease
  if settlements > 1 then
    local probes = {}
    for k = 1, settlements do
      probes[2 * k - 1], probes[2 * k] = '0', ending[k]
    end
    if call('ZADD', LEASES, 'NX', unpack(probes)) > 0 then
      lost = {}
      for k, score in ipairs(call('ZMSCORE', LEASES, unpack(ending))) do
        lost[ending[k]] = score == '0'
      end
    end
  end
  acked_now = call('ZREM', LEASES, unpack(ending))
  reply[1] = settlements == 1 and 'd' or string.rep('d', settlements)
  if acked_now < settlements or lost then
    local answers = {}
    lost, forgotten, acked_now = lost or {}, {}, 0
    for k = 1, settlements do
      local member = ending[k]
      if settlements == 1 or lost[member] then
        answers[k] = 'l'
      else
        -- The second of two equal receipts finds nothing.
        answers[k], lost[member], acked_now = 'd', true, acked_now + 1
        forgotten[acked_now] = sub(member, 1, 7)
      end
    end
    reply[1] = table.concat(answers)
  end
  -- Of the others, more goes than this.
  if acked_now > 0 and plain then
    for k = 1, flags == 'h' and acked_now or 0 do
      forgotten[acked_now + k] = 'h' .. forgotten[k]
    end
    call('HDEL', FRAMES, unpack(forgotten))
    if makes_room then
      arm(makes_room, acked_now)
    end
  end
end
