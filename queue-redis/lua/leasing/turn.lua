-- turn: settles, then leases, as two calls would (each tidies first). Settling alone asks for
-- none; leasing alone has no settlements.
-- needs: ARRIVALS, DELAYED, ENDS, FRAMES, LEASES, META, acked, add_many, all_acks, any_ahead
-- needs: arm, drop, expect, flags, holders, last_token, limited, outdated_left, pick, quiet_until
-- needs: settle_acks
-- gives: act
-- ARGV[3] how many to lease at most, 0 for none; below zero, so many for several callers together
-- ARGV[4] how long, in ms
-- ARGV[5] who leases them, '' for nobody in particular
-- ARGV[6 …] settlements
-- Returns {answers, first token, ms until something changes by itself or -1, frame …}: the tokens count
-- up from the first; the time is there only when nothing is handed out. Or FEW, where not as many are ready
-- as several callers ask for: then nothing was done but tidying, and each shall call by itself.
local max, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])
local settlements = #ARGV - 5

local for_all -- what was picked for several callers

-- Leases into `reply`; answers whether any, and whether something damaged stood in the way.
local function lease(reply)
  local picked = for_all or pick(max)
  local frames, ids = picked.frames, picked.ids
  local got = #frames
  if got > 0 then
    -- One for each µs (Token::PER_MILLI): fewer, and a busy queue would run ahead of the clock, and
    -- after a failover hand out the tokens of the lost history again (R1).
    local first = math.max(last_token + 1, now_micros)
    local deadline, leases = string.format('%d', now + ttl), {}
    for k = 1, got do
      leases[2 * k - 1] = deadline
      leases[2 * k] = ids[k] .. pack('>I7', first + k - 1)
      reply[3 + k] = frames[k]
    end
    last_token = first + got - 1
    reply[2] = first
    local kept = picked.fresh
    if ARGV[5] ~= '' then
      local before = #kept
      for k = 1, got do
        kept[before + 2 * k - 1], kept[before + 2 * k] = 'h' .. ids[k], ARGV[5]
      end
      if not holders then
        call('HSET', META, 'flags', flags .. 'h')
      end
    end
    if kept[1] then
      call('HSET', FRAMES, unpack(kept))
    end
    if limited then
      call('ZREM', ENDS, unpack(ids))
    end
    add_many(LEASES, leases)
    expect(now + ttl)
  end
  drop(picked)
  -- Whoever leaves work behind wakes the next; work that is due later too, since whoever takes
  -- something may have been the only one who knew until when to sleep (D5).
  if got > 0 and any_ahead() then
    arm(ARRIVALS, 1)
  end
  return got > 0, picked.damaged[1]
end

-- Milliseconds until a lease expires or something is due, or -1.
local function time_left()
  local deadline = tonumber(call('ZRANGE', LEASES, '0', '0', 'WITHSCORES')[2])
  local due = tonumber(call('ZRANGE', DELAYED, '0', '0', 'WITHSCORES')[2])
  local first = math.min(deadline or math.huge, due or math.huge)
  return first <= 9007199254740991 and math.max(first - now, 0) or -1
end

-- `tidy` is there if it may be needed.
local function act(settle, tidy)
  if max < 0 then
    max = -max
    for_all = now < quiet_until and not string.find(flags, '[pe]') and pick(max)
    if not for_all or #for_all.frames < max then
      return redis.status_reply('FEW')
    end
  end
  local reply, done, leased = { '', 0, -1 }, 0, false
  if settlements > 0 then
    reply[1], done = settle(6, settlements)
    if max > 0 and tidy then
      tidy()
    end
  end
  if max > 0 and not (flags ~= '' and string.find(flags, 'p', 1, true)) then
    local aside
    if not outdated_left then
      leased, aside = lease(reply)
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

if now < quiet_until and all_acks(6, settlements) then
  return act(settle_acks)
end
