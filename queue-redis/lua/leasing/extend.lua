-- extend: sets the deadlines of live leases to now + lease_time (L10).
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] lease_time: in ms
-- ARGV[4 …] leases: id and token (14 bytes) each, as in LEASES. If the holder reports a progress, or stores a state,
--   then the length of the state (4 bytes; NO_STATE for none), the state, and the progress
-- Returns one letter for each lease: d extended, l lost.
-- needs: ARRIVALS, FRAMES, LEASES, META, flags, holders, is_valid, keep_state, lower_next_due, reclaim, split_batches
-- needs: wake_up
-- gives: meta
--- @include "lib/call"
--- @include "{kind}/queue"
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"

local function extend()
  --- @include "lib/reclaim"
  --- @include "lib/frames#state"
  local NO_STATE = 4294967295

  -- Stores the progress of a single lease behind the holder's name (L19).
  local function report(member, progress)
    local field = 'h' .. sub(member, 1, 7)
    local holder = string.match(call('HGET', FRAMES, field) or '', '^[^\255]*')
    call('HSET', FRAMES, field, holder .. '\255' .. progress)
    if not holders then
      flags = string.find(flags, 'h', 1, true) and flags or flags .. 'h'
      call('HSET', META, 'flags', flags)
    end
  end

  reclaim()
  local deadline = now + tonumber(ARGV[3])
  local members, progress, own_states = { unpack(ARGV, 4) }, {}, {}
  for k = 1, #members do
    if #members[k] > 14 then
      local length, from = decode('>I4', members[k], 15)
      if length ~= NO_STATE then
        own_states[k] = sub(members[k], from, from + length - 1)
        from = from + length
      end
      members[k], progress[k] = sub(members[k], 1, 14), sub(members[k], from)
    end
  end
  split_batches(members)
  local deadlines = call('ZMSCORE', LEASES, unpack(members))
  local first = tonumber(call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')[2])
  local answers, leases = {}, {}
  for k = 1, #members do
    local is_live = deadlines[k] and tonumber(deadlines[k]) > now
    if is_live and own_states[k] then
      local id = sub(members[k], 1, 7)
      local frame = call('HGET', FRAMES, id)
      is_live = frame and is_valid(frame, id) -- a state has no place with a damaged message
      if is_live then
        keep_state(id, frame, own_states[k])
      end
    end
    if is_live then
      answers[k] = 'd'
      if progress[k] and progress[k] ~= '' then
        report(members[k], progress[k])
      end
      leases[#leases + 1] = deadline
      leases[#leases + 1] = members[k]
    else
      answers[k] = 'l'
    end
  end
  if leases[1] then
    call('ZADD', LEASES, unpack(leases))
    lower_next_due(deadline)
    -- Wakes up processes that sleep until a later deadline.
    if deadline < first then
      wake_up(ARRIVALS, 1)
    end
  end
  return table.concat(answers)
end

return extend()
