-- Acks on the fast path. No lease has expired, so all members of LEASES are live. Reading 128 deadlines would cost
-- the server more than all other steps. Instead, a receipt without a lease is found by adding it for a moment, with a
-- score that no lease has. Acks of single messages of a batch lease, and second acks, take the slow path (see
-- `lib/batch_leases`).
-- needs: BATCH_LEASES, FRAMES, LEASES, META, acked_indexes, batches, ending, fast, for_several, forgotten
-- needs: named_holders, next_list, only_acks, reply, room_marker, singles, unattached, wake_up
-- gives: acked_now
local acked_now = 0 -- number of messages that are acked here

-- A call for several callers does nothing before it is known whether there are enough messages.
only_acks = only_acks and (fast or not for_several)
local acked_fields, acked_before -- of the batch leases
if only_acks and batches then
  acked_fields = {}
  for k = 1, #batches do
    acked_fields[k] = 'a' .. batches[k]
  end
  acked_before = call('HMGET', FRAMES, unpack(acked_fields))
  for k, known in ipairs(call('ZMSCORE', LEASES, unpack(batches))) do
    local before = acked_before[k]
    local again = before and (acked_indexes[k] == '' or string.find(before, '[^\128-\255]')
      or string.find(acked_indexes[k], '[' .. before .. ']'))
    only_acks = only_acks and known and not again
  end
end
local lost -- receipts without a lease of their own
if only_acks and singles > 1 then
  local probes = {}
  for k = 1, singles do
    probes[2 * k - 1], probes[2 * k] = '0', ending[k]
  end
  if call('ZADD', LEASES, 'NX', unpack(probes)) > 0 then
    lost = {}
    local any_batches = call('EXISTS', BATCH_LEASES) == 1
    for k, score in ipairs(call('ZMSCORE', LEASES, unpack(ending))) do
      lost[ending[k]] = score == '0'
      if any_batches and score == '0' then
        call('ZREM', LEASES, ending[k])
        only_acks = false
      end
    end
  end
end
if only_acks and singles > 0 then
  local done = call('ZREM', LEASES, unpack(ending))
  local answers = singles == 1 and 'd' or string.rep('d', singles)
  if singles == 1 and done == 0 then
    answers, forgotten, only_acks = 'l', {}, call('EXISTS', BATCH_LEASES) == 0
  elseif done < singles or lost then
    local each = {}
    lost, forgotten, done = lost or {}, {}, 0
    for k = 1, singles do
      local member = ending[k]
      if lost[member] then
        each[k] = 'l'
      else
        -- The second of two equal receipts finds nothing.
        each[k], lost[member], done = 'd', true, done + 1
        forgotten[done] = sub(member, 1, 7)
      end
    end
    answers = table.concat(each)
  end
  acked_now, reply[1] = done, answers
  -- If messages have attachments, the slow path removes their data.
  if done > 0 and unattached then
    for k = 1, named_holders and done or 0 do
      forgotten[done + k] = 'h' .. forgotten[k]
    end
    call('HDEL', FRAMES, unpack(forgotten))
    if room_marker then
      wake_up(room_marker, done)
    end
  end
end
if only_acks and batches then
  local count, finished, fields, noted = 0, {}, {}, {}
  for k = 1, #batches do
    local batch, own, before = batches[k], acked_indexes[k], acked_before[k] or ''
    local id, _, messages = decode('>I7I7B', batch)
    local some = own == '' and messages or #own
    count = count + some
    if #before + some == messages then
      finished[#finished + 1] = batch
      fields[#fields + 1], fields[#fields + 2], fields[#fields + 3] = batch, 'h' .. batch, acked_fields[k]
    else
      noted[#noted + 1], noted[#noted + 2] = acked_fields[k], before .. own
    end
    for n = 1, next_list and 0 or some do
      local place = own == '' and n - 1 or byte(own, n) - 128
      fields[#fields + 1] = #batch > 15 and sub(batch, 16 + 7 * place, 22 + 7 * place) or pack('>I7', id + place)
    end
  end
  if noted[1] then
    call('HSET', FRAMES, unpack(noted))
  end
  if finished[1] then
    call('ZREM', LEASES, unpack(finished))
    call('ZREM', BATCH_LEASES, unpack(finished))
  end
  if fields[1] then
    call('HDEL', FRAMES, unpack(fields))
  end
  call('HINCRBY', META, 'uncounted', #finished - count)
  acked_now, reply[1] = acked_now + count, string.rep('d', count) .. reply[1]
  if room_marker then
    wake_up(room_marker, count)
  end
end
fast = fast and only_acks
