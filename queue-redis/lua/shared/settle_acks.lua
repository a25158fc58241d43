-- Settlements, one argument each, from ARGV[from] on: what to do (1 byte: a ack, r retry, d defer,
-- l release, b bury), id and token (14 bytes, a member of LEASES), then the delay in ms (7 bytes)
-- or the reason.
-- needs: LEASES, forget, gone
-- gives: all_acks, settle_acks

local function all_acks(from, count)
  for k = from, from + count - 1 do
    if byte(ARGV[k], 1) ~= 97 then
      return false
    end
  end
  return true
end

-- Acks, while no lease is expired, so that whatever is in LEASES is live. Answers as `settle`.
-- Reading 128 deadlines costs the server more than all the rest, so a receipt without a lease is
-- told in another way: it is put there for a moment, with a score that no lease has.
local function settle_acks(from, count)
  local members, probes, ids = {}, {}, {}
  for k = 1, count do
    local member = sub(ARGV[from + k - 1], 2, 15)
    members[k], ids[k] = member, sub(member, 1, 7)
    probes[2 * k - 1], probes[2 * k] = '0', member
  end
  local lost = {}
  if count > 1 and call('ZADD', LEASES, 'NX', unpack(probes)) > 0 then
    for k, deadline in ipairs(call('ZMSCORE', LEASES, unpack(members))) do
      lost[members[k]] = deadline == '0'
    end
  end
  -- One of two equal receipts finds nothing.
  if call('ZREM', LEASES, unpack(members)) == count and not next(lost) then
    gone(ids)
    forget(ids)
    return string.rep('d', count), count
  end
  local answers, done = {}, {}
  for k = 1, count do
    local member = members[k]
    if count == 1 or lost[member] then
      answers[k] = 'l'
    else
      answers[k], lost[member] = 'd', true
      done[#done + 1] = ids[k]
    end
  end
  if done[1] then
    gone(done)
    forget(done)
  end
  return table.concat(answers), #done
end
