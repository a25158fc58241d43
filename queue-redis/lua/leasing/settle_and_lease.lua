-- turn: settles, then leases, as two calls would (each tidies first). Settling alone asks for
-- none; leasing alone has no settlements.
-- ARGV[3] how many to lease at most, 0 for none; below zero, so many for several callers together
-- ARGV[4] how long, in ms
-- ARGV[5] who leases them, '' for nobody in particular
-- ARGV[6] 1 if they may be leased as a run (see `runs`), 0 if not
-- ARGV[7 …] settlements: acks of runs first, with the places of those that are acked unless that is all
-- Returns {answers, first token, ms until something changes by itself or -1, frame …}: the tokens count
-- up from the first; the time is there only when nothing is handed out, and -2 says that it is a run. Or FEW,
-- where not as many are ready as several callers ask for: then nothing was done but tidying, and each shall call
-- by itself.
-- needs: ARRIVALS, DELAYED, ENDS, FRAMES, LEASES, META, acked_now, add_many, any_ahead, arm, drop, expect, flags
-- needs: forget, gone, holders, limited, outdated_left, pick, quiet_until, settle, tidy
-- gives: acked, acked_places, deadline, ending, first_number, for_several, forgotten, frames_back, gapless
-- gives: lease_time, makes_room, meta, named, only_acks, plain, reply, runs, settlements, singles, size, taken
-- gives: taken_elements, taken_packed, token, usual, wants
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
call('ZREM', ARRIVALS, '')
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet', 'token', 'acked')
--- @include "lib/config#state"
--- @include "lib/packs"
-- Whether a turn is what most turns are: it settles by acks alone, it leases to nobody whose name is new here, and
-- there is nothing else to do or to know. The files that follow do such a turn without functions, each of which
-- costs it as much as a command does; and what else comes goes the long way, behind them.
-- ARGV: as for `settle_and_lease`
local last_token, acked = tonumber(meta[5]) or 0, tonumber(meta[6]) or 0
if not (last_token >= 0 and last_token < 9007199254740000) then
  last_token = 0 -- damaged; the clock has passed those that were handed out
end
local wants, lease_time, settlements = tonumber(ARGV[3]), tonumber(ARGV[4]), #ARGV - 6
local for_several = wants < 0 -- callers
wants = for_several and -wants or wants
local only_acks = now < quiet_until
-- What ends: of runs, those in these places, '' for all; single leases, and the ids of their messages. Tables begin
-- with room for one message, so that they do not grow for it.
local runs, acked_places, singles, ending, forgotten = nil, nil, 0, { nil }, { nil, nil }
for k = 1, settlements do
  local settlement = ARGV[6 + k]
  local what = byte(settlement, 1)
  if what == 65 or what == 66 then
    local run_ends = 16 + (what == 66 and 7 * byte(settlement, 16) or 0)
    runs, acked_places = runs or {}, acked_places or {}
    runs[k], acked_places[k] = sub(settlement, 2, run_ends), sub(settlement, run_ends + 1)
  else
    only_acks = only_acks and what == 97
    singles = singles + 1
    ending[singles], forgotten[singles] = sub(settlement, 2, 15), sub(settlement, 2, 8)
  end
end
-- Whether any lease had a holder's name, and whether nothing else goes with a message.
local named, plain = false, true
if flags ~= '' then
  named, plain = string.find(flags, 'h', 1, true) ~= nil, not string.find(flags, '[^hk]')
end
local usual = only_acks and plain and (named or ARGV[5] == '')
local makes_room = nil -- the marker of those who wait for messages to go
-- What is leased: so many messages, their bytes, the answer; the least of their numbers, and whether each has the
-- number behind that of the one before it.
local taken, size, reply, first_number, gapless = 0, 0, { '', 0, -1, nil }, nil, true
-- Of a list: how many elements of READY these are; if packs are among them, what META's `packed` changes by; and frames
-- that go back there, the last first.
local taken_elements, taken_packed, frames_back = 0, nil, nil
-- One for each µs (Token::PER_MILLI): fewer, and a busy queue would run ahead of the clock, and after a failover
-- hand out the tokens of the lost history again (R1).
local token = math.max(last_token + 1, now_micros)
local deadline = wants > 0 and string.format('%d', now + lease_time)
--- @include "{kind}/queue#fast_lease"
if for_several and usual and taken < wants then
  return redis.status_reply('FEW')
end
--- @include "leasing/fast_acks"
--- @include "lib/writes#add_many"
--- @include "leasing/fast_lease"
if usual then
  return reply
end
local function slow_path()
  --- @include "lib/writes#expect"
  --- @include "{kind}/queue#line"
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
  --- @include "leasing/settle"
  tidy()
  return act(settle, tidy)
end
return slow_path()
