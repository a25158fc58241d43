-- Acks, while no lease is expired, so that whatever is in LEASES is live. Reading 128 deadlines costs the server
-- more than all the rest, so a receipt without a lease is told in another way: it is put there for a moment,
-- with a score that no lease has. Whoever acks a message of a run without naming the run, or a second time, goes the
-- long way (see `runs`).
-- Returns FEW as `settle_and_lease` does.
-- needs: FRAMES, LEASES, META, RUNS, acked_places, arm, ending, for_several, forgotten, makes_room, named, next_list
-- needs: only_acks, plain, reply, runs, singles, usual
-- gives: acked_now
local acked_now = 0 -- how many were acked here
-- Nothing may be done for several callers before it is known whether there are enough.
only_acks = only_acks and (usual or not for_several)
local acked_fields, acked_before -- of the runs
if only_acks and runs then
  acked_fields = {}
  for k = 1, #runs do
    acked_fields[k] = 'a' .. runs[k]
  end
  acked_before = call('HMGET', FRAMES, unpack(acked_fields))
  for k, known in ipairs(call('ZMSCORE', LEASES, unpack(runs))) do
    local before = acked_before[k]
    local again = before and (acked_places[k] == '' or string.find(before, '[^\128-\255]')
      or string.find(acked_places[k], '[' .. before .. ']'))
    only_acks = only_acks and known and not again
  end
end
local lost -- receipts that have no lease of their own
if only_acks and singles > 1 then
  local probes = {}
  for k = 1, singles do
    probes[2 * k - 1], probes[2 * k] = '0', ending[k]
  end
  if call('ZADD', LEASES, 'NX', unpack(probes)) > 0 then
    lost = {}
    local in_run = call('EXISTS', RUNS) == 1
    for k, score in ipairs(call('ZMSCORE', LEASES, unpack(ending))) do
      lost[ending[k]] = score == '0'
      if in_run and score == '0' then
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
    answers, forgotten, only_acks = 'l', {}, call('EXISTS', RUNS) == 0
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
  -- Of the others, more goes than this.
  if done > 0 and plain then
    for k = 1, named and done or 0 do
      forgotten[done + k] = 'h' .. forgotten[k]
    end
    call('HDEL', FRAMES, unpack(forgotten))
    if makes_room then
      arm(makes_room, done)
    end
  end
end
if only_acks and runs then
  local count, over, fields, noted = 0, {}, {}, {}
  for k = 1, #runs do
    local run, own, before = runs[k], acked_places[k], acked_before[k] or ''
    local id, _, messages = decode('>I7I7B', run)
    local some = own == '' and messages or #own
    count = count + some
    if #before + some == messages then
      over[#over + 1] = run
      fields[#fields + 1], fields[#fields + 2], fields[#fields + 3] = run, 'h' .. run, acked_fields[k]
    else
      noted[#noted + 1], noted[#noted + 2] = acked_fields[k], before .. own
    end
    for n = 1, next_list and 0 or some do
      local place = own == '' and n - 1 or byte(own, n) - 128
      fields[#fields + 1] = #run > 15 and sub(run, 16 + 7 * place, 22 + 7 * place) or pack('>I7', id + place)
    end
  end
  if noted[1] then
    call('HSET', FRAMES, unpack(noted))
  end
  if over[1] then
    call('ZREM', LEASES, unpack(over))
    call('ZREM', RUNS, unpack(over))
  end
  if fields[1] then
    call('HDEL', FRAMES, unpack(fields))
  end
  call('HINCRBY', META, 'uncounted', #over - count)
  acked_now, reply[1] = acked_now + count, string.rep('d', count) .. reply[1]
  if makes_room then
    arm(makes_room, count)
  end
end
usual = usual and only_acks
