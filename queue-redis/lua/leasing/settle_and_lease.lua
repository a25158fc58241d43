-- settle_and_lease: settles leases, then leases messages, as two calls would; each of them reclaims first. A call may
-- also settle only, or lease only.
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] max: the number of messages to lease at most; 0 for none; below zero, the number for several callers
--   together
-- ARGV[4] lease_time: in ms
-- ARGV[5] holder: '' for none
-- ARGV[6] batch: 1 if the messages may get a batch lease (see `lib/batch_leases`), 0 if not
-- ARGV[7 …] settlements, acks of batch leases first:
-- - A, batch lease (15 bytes), indexes of the acked messages, none for all
-- - B, batch lease with its ids, indexes of the acked messages, none for all
-- - a ack, l release, d defer, r retry, b bury: lease (14 bytes); then delay (7 bytes) of d and r, reason of r and b
-- - s with a state: its length (4 bytes), the state, then a settlement as above
-- - k ack with a result: lease (14 bytes), time of the result in ms (7 bytes), how many results the queue may hold
--   (4 bytes), result. The call sends the keys of `{kind}/queue#results`, and an end marker for each k, in order
--
-- Returns {a letter for each settled message, first token, ms until the next change or -1, frame …}. Tokens count up
-- from the first. The time is there only if no message is leased. If messages are leased, -2 means a batch lease. If
-- the caller's configuration is not the stored one, 2 * max_attempts is taken off the -1 or -2.
-- Returns FEW if several callers ask for more messages than are ready. Then the call only reclaimed, and each caller
-- must call alone.
-- needs: ARRIVALS, DELAYED, ENDS, FRAMES, LEASES, META, acked_now, add_many, allow, any_left, config, end_places, flags
-- needs: forget, free, frees_at, has_ttl, hold, holders, lower_next_due, more_outdated, next_due, pick, reclaim
-- needs: remove_picked, settle, spend, wake_up
-- gives: acked, acked_indexes, batches, deadline, ending, fast, first_number, for_several, forgotten, frames_back
-- gives: gapless, lease_time, meta, named_holders, only_acks, reply, room_marker, settlements, singles, size, taken
-- gives: taken_elements, taken_packed, token, unattached, wants
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due', 'token', 'acked')
--- @include "lib/config#state"
--- @include "lib/packs"

-- The fast path is for most calls: they settle by acks only, lease without a new holder's name, and have nothing to
-- reclaim. It defines no functions, because each costs as much as a command. Other calls take the slow path below.
local last_token, acked = tonumber(meta[5]) or 0, tonumber(meta[6]) or 0
if not (last_token >= 0 and last_token < 9007199254740000) then
  last_token = 0 -- damaged; the clock is past the tokens that were given out
end
local wants, lease_time, settlements = tonumber(ARGV[3]), tonumber(ARGV[4]), #ARGV - 6
local for_several = wants < 0 -- callers
wants = for_several and -wants or wants
local only_acks = now < next_due -- whether the call has acks only, and nothing to reclaim

-- The leases to ack: batch leases and their acked indexes ('' for all); single leases, and their ids. The tables have
-- room for one message, so they do not grow for it.
local batches, acked_indexes, singles, ending, forgotten = nil, nil, 0, { nil }, { nil, nil }
for k = 1, settlements do
  local settlement = ARGV[6 + k]
  local what = byte(settlement, 1)
  if what == 65 or what == 66 then -- A or B: of a batch lease
    local batch_ends = 16 + (what == 66 and 7 * byte(settlement, 16) or 0)
    batches, acked_indexes = batches or {}, acked_indexes or {}
    batches[k], acked_indexes[k] = sub(settlement, 2, batch_ends), sub(settlement, batch_ends + 1)
  else
    only_acks = only_acks and what == 97 -- a
    singles = singles + 1
    ending[singles], forgotten[singles] = sub(settlement, 2, 15), sub(settlement, 2, 8)
  end
end

-- Whether a lease ever had a holder's name, and whether no message ever had an attachment.
local named_holders, unattached = false, true
if flags ~= '' then
  named_holders = string.find(flags, 'h', 1, true) ~= nil
  unattached = not string.find(flags, '[^hk]') -- holders and packs are no attachments
end
local fast = only_acks and unattached and (named_holders or ARGV[5] == '') -- whether it is on the fast path
local room_marker = nil -- the marker of producers that wait for room

-- The messages to lease: their number and bytes, and the reply; their least number, and whether their numbers have no
-- gaps.
local taken, size, reply, first_number, gapless = 0, 0, { '', 0, -1, nil }, nil, true
if meta[1] ~= ARGV[2] then
  reply[3] = -1 - 2 * tonumber(string.match(config, 'max_attempts=(%d+)'))
end

-- For a list: the number of elements of READY; the change of `packed` if packs are among them; frames to put back,
-- the last first.
local taken_elements, taken_packed, frames_back = 0, nil, nil

-- One token for each µs (Token::PER_MILLI). With fewer, a busy queue would run ahead of the clock. After a failover
-- it would give out tokens of the lost history again (R1).
local token = math.max(last_token + 1, now_micros)
local deadline = wants > 0 and string.format('%d', now + lease_time)

-- The fast path finds the next messages, acks, and leases. Each step clears `fast` if the slow path must do the rest.
--- @include "{kind}/queue#fast_lease"
if for_several and fast and taken < wants then
  return redis.status_reply('FEW')
end
--- @include "leasing/fast_acks"
--- @include "{kind}/queue#fast_settle_and_lease"
--- @include "lib/writes#add_many"
--- @include "leasing/fast_lease"
if fast then
  return reply
end

-- The slow path: other settlements, other messages, or something to reclaim.
local function slow_path()
  --- @include "lib/writes#lower_next_due"
  --- @include "{kind}/queue#line"

  local allowed_of, spend_for -- of a queue with limits
  if flags ~= '' and string.find(flags, 'l', 1, true) then
    --- @include "lib/limits"
    allowed_of, spend_for = allow, spend
  end

  local for_all -- messages picked for several callers

  -- Leases messages into `reply`. Returns how many, and whether a damaged message was in the way. If no more are
  -- allowed now, also returns whether messages wait for that, and the ms until the next token.
  local function lease()
    local allowed, next_token = wants
    if allowed_of then
      allowed, next_token = allowed_of(wants)
      if allowed < 1 then
        spend_for(0)
        return 0, nil, pick(1).frames[1] and true, next_token
      end
    end
    local picked = for_all or pick(allowed)
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
      local fields, holder = picked.fresh, ARGV[5]
      if holder ~= '' then
        local before = #fields
        for k = 1, count do
          fields[before + 2 * k - 1], fields[before + 2 * k] = 'h' .. ids[k], holder
        end
        if not holders then
          call('HSET', META, 'flags', flags .. 'h')
        end
      end
      if fields[1] then
        call('HSET', FRAMES, unpack(fields))
      end
      if has_ttl then
        call('ZREM', ENDS, unpack(ids))
      end
      add_many(LEASES, leases)
      lower_next_due(now + lease_time)
    end
    if hold then
      hold(picked)
    end
    remove_picked(picked)
    -- A call that leaves work behind wakes up the next process, also if the work is due later. The leasing process
    -- may have been the only one that knew the due time (D5).
    if count > 0 and any_left() then
      wake_up(ARRIVALS, 1, true)
    end
    if spend_for then
      spend_for(count)
    end
    return count, picked.damaged[1]
  end

  -- Milliseconds until a lease expires, a message is due, a group is freed or a token comes; -1 for never. If a limit
  -- keeps ready messages, what is due already does not count.
  local function time_left(is_kept, next_token)
    local expires = tonumber(call('ZRANGE', LEASES, '0', '0', 'WITHSCORES')[2])
    local from = is_kept and '(' .. now_text or '-inf'
    next_token = is_kept and next_token
    local due = tonumber(call('ZRANGEBYSCORE', DELAYED, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
    local first = math.min(expires or math.huge, due or math.huge, next_token and now + next_token or math.huge)
    first = math.min(first, frees_at and frees_at() or first)
    return first <= 9007199254740991 and math.max(first - now, 0) or -1
  end

  -- The rest of the call, after acks on the fast path. `settle` and `reclaim` are nil if it needs neither.
  local function run(settle, reclaim)
    if for_several then
      local is_plain = not string.find(flags, '[pel]') -- not paused, without times to live and limits
      for_all = now < next_due and is_plain and pick(wants)
      if not for_all or #for_all.frames < wants then
        return redis.status_reply('FEW')
      end
    end
    reply = { reply[1], 0, reply[3] }
    local done, leased, ended = acked_now, 0, acked_now
    if acked_now > 0 and end_places then
      end_places({ unpack(forgotten, 1, acked_now) })
    end
    if acked_now > 0 and not unattached and forgotten[1] then
      free(forgotten)
      forget(forgotten)
    end
    if settle and settlements > 0 then
      reply[1], done, ended = settle(7, settlements)
      if wants > 0 then
        reclaim()
      end
    end
    local is_paused = flags ~= '' and string.find(flags, 'p', 1, true)
    if wants > 0 and not is_paused then
      local aside, is_kept, next_token
      if not more_outdated then
        leased, aside, is_kept, next_token = lease()
      end
      if leased == 0 then
        reply[3] = (more_outdated or aside) and 0 or time_left(is_kept, next_token)
        -- The time has come, and no call has searched: the stored `next_due` is damaged.
        if reply[3] == 0 and not reclaim then
          call('HSET', META, 'next_due', '0')
        end
      end
    end
    if leased > 0 or done > 0 then
      call('HSET', META, 'token', last_token, 'acked', acked + done)
    end
    -- Places that became free, and that this call did not take again (Q1, G6).
    if (allowed_of or hold) and ended > leased and any_left() then
      wake_up(ARRIVALS, ended - leased)
    end
    return reply
  end

  if now < next_due and (only_acks or settlements == 0) then
    return run()
  end
  --- @include "leasing/settle"

  reclaim()
  return run(settle, reclaim)
end

return slow_path()
