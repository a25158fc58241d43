-- turn: settles, then leases, as two calls would (each tidies first). Settling alone asks for
-- none; leasing alone has no settlements.
-- needs: ARRIVALS, DELAYED, ENDS, FRAMES, LEASES, META, acked, acked_now, add_many, any_ahead, arm, deadline, drop
-- needs: expect, flags, for_several, forget, forgotten, gone, holders, last_token, limited, only_acks
-- needs: outdated_left, pick, plain, quiet_until, reply, settlements, token, lease_time, wants
-- gives: act
-- ARGV[3] how many to lease at most, 0 for none; below zero, so many for several callers together
-- ARGV[4] how long, in ms
-- ARGV[5] who leases them, '' for nobody in particular
-- ARGV[6] 1 if they may be leased as a run (see `runs`), 0 if not
-- ARGV[7 …] settlements: acks of runs first, with the places of those that are acked unless that is all
-- Returns {answers, first token, ms until something changes by itself or -1, frame …}: the tokens count
-- up from the first; the time is there only when nothing is handed out, and -2 says that it is a run. Or FEW,
-- where not as many are ready as several callers ask for: then nothing was done but tidying, and each shall call
-- by itself.
local for_all -- what was picked for several callers

-- Leases into `reply`; answers whether any, and whether something damaged stood in the way.
local function lease()
  local picked = for_all or pick(wants)
  local frames, ids = picked.frames, picked.ids
  local count = #frames
  if count > 0 then
    local leases = {}
    for k = 1, count do
      leases[2 * k - 1] = deadline
      leases[2 * k] = ids[k] .. pack('>I7', token + k - 1)
      reply[3 + k] = frames[k]
    end
    last_token = token + count - 1
    reply[2] = token
    local fields = picked.fresh
    if ARGV[5] ~= '' then
      local before = #fields
      for k = 1, count do
        fields[before + 2 * k - 1], fields[before + 2 * k] = 'h' .. ids[k], ARGV[5]
      end
      if not holders then
        call('HSET', META, 'flags', flags .. 'h')
      end
    end
    if fields[1] then
      call('HSET', FRAMES, unpack(fields))
    end
    if limited then
      call('ZREM', ENDS, unpack(ids))
    end
    add_many(LEASES, leases)
    expect(now + lease_time)
  end
  drop(picked)
  -- Whoever leaves work behind wakes the next; work that is due later too, since whoever takes
  -- something may have been the only one who knew until when to sleep (D5).
  if count > 0 and any_ahead() then
    arm(ARRIVALS, 1, true)
  end
  return count > 0, picked.damaged[1]
end

-- Milliseconds until a lease expires or something is due, or -1.
local function time_left()
  local expires = tonumber(call('ZRANGE', LEASES, '0', '0', 'WITHSCORES')[2])
  local due = tonumber(call('ZRANGE', DELAYED, '0', '0', 'WITHSCORES')[2])
  local first = math.min(expires or math.huge, due or math.huge)
  return first <= 9007199254740991 and math.max(first - now, 0) or -1
end

-- `settle` and `tidy` are there if they may be needed.
local function act(settle, tidy)
  if for_several then
    for_all = now < quiet_until and not string.find(flags, '[pe]') and pick(wants)
    if not for_all or #for_all.frames < wants then
      return redis.status_reply('FEW')
    end
  end
  reply = { reply[1], 0, -1 }
  local done, leased = acked_now, false
  if acked_now > 0 and not plain and forgotten[1] then
    gone(forgotten)
    forget(forgotten)
  end
  if settle and settlements > 0 then
    reply[1], done = settle(7, settlements)
    if wants > 0 then
      tidy()
    end
  end
  if wants > 0 and not (flags ~= '' and string.find(flags, 'p', 1, true)) then
    local aside
    if not outdated_left then
      leased, aside = lease()
    end
    if not leased then
      reply[3] = (outdated_left or aside) and 0 or time_left()
      -- Something is over, and nobody looked: the noted time is damaged.
      if reply[3] == 0 and not tidy then
        call('HSET', META, 'quiet', '0')
      end
    end
  end
  if leased or done > 0 then
    call('HSET', META, 'token', last_token, 'acked', acked + done)
  end
  return reply
end

if now < quiet_until and (only_acks or settlements == 0) then
  return act()
end
