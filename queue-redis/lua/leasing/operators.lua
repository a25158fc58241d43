-- Verbs for operators: `pause`, `resume`, `purge`, `cancel`, `reschedule` and `reconfigure`.
-- needs: ARRIVALS, META
-- gives: meta
--- @include "lib/call"
--- @include "{kind}/queue"
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config"

--- @part "pause"
-- pause: lets leases return nothing until `resume`.
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- Returns 1.
-- needs: META, flags
local is_paused = string.find(flags, 'p', 1, true)
if not is_paused then
  call('HSET', META, 'flags', flags .. 'p')
end
return 1

--- @part "resume"
-- resume: lets leases return messages again, and wakes up waiting processes.
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- Returns 1.
-- needs: ARRIVALS, flags, store_flags, wake_up
--- @include "lib/wake_up"
--- @include "lib/config#store_flags"
local unpaused = string.gsub(flags, 'p', '')
store_flags(unpaused)
wake_up(ARRIVALS, MANY)
return 1

--- @part "purge"
-- purge: removes ready messages in delivery order, then delayed ones by (due, id).
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] max: the number of messages, 128 at most
-- ARGV[4] present if this continues a purge
-- Returns the number of removed messages; fewer than `max` if there are no more.
-- needs: forget, free, reclaim, take_out
--- @include "lib/config#state"

local function purge()
  --- @include "lib/reclaim"
  --- @include "lib/line#take_out"

  if not ARGV[4] then
    reclaim()
  end
  local ids, removed = take_out(tonumber(ARGV[3]), 'purged')
  if ids[1] then
    free(ids)
    forget(ids)
  end
  return removed
end

return purge()

--- @part "cancel"
-- cancel: removes undelivered messages (L15).
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3 …] ids
-- Returns one letter for each id: c cancelled, t too late, n never existed.
-- needs: accepted, add_to, forget, free, reclaim, withdraw
--- @include "lib/config#state"

local function cancel()
  --- @include "lib/reclaim"
  --- @include "{kind}/queue#lookup"

  reclaim()
  local answers, ids = {}, {}
  for k = 3, #ARGV do
    local number = decode('>I7', ARGV[k])
    if number == 0 or number > accepted then
      answers[k - 2] = 'n'
    elseif withdraw(ARGV[k]) then
      answers[k - 2] = 'c'
      ids[#ids + 1] = ARGV[k]
    else
      answers[k - 2] = 't'
    end
  end
  if ids[1] then
    free(ids)
    forget(ids)
    add_to('cancelled', #ids)
  end
  return table.concat(answers)
end

return cancel()

--- @part "reschedule"
-- reschedule: gives delayed messages another due time; on a delay queue also messages that are due (D4).
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] due time: 8 bytes, 0 and ms from now, or 1 and ms since 1970
-- ARGV[4 …] ids
-- Returns one letter for each id: m moved, t too late.
-- needs: ARRIVALS, DELAYED, FRAMES, PROMOTED, attempts_of, is_valid, lower_next_due, reclaim, reframe, wake_up
--- @include "lib/config#state"

local function reschedule()
  --- @include "lib/reclaim"
  --- @include "lib/writes#lower_next_due"

  reclaim()
  local absolute, due = decode('>BI7', ARGV[3])
  due = absolute == 1 and math.max(due, now) or now + due
  local answers, moved, is_moved = {}, 0, {}
  for k = 4, #ARGV do
    local id = ARGV[k]
    answers[k - 3] = 't'
    if call('ZSCORE', DELAYED, id) then
      -- A message is ready since its due time, and arrives then (P4). On a delay queue, frames do not say so.
      local frame = PROMOTED and call('HGET', FRAMES, id)
      if frame and is_valid(frame, id) then
        call('HSET', FRAMES, id, reframe(frame, attempts_of(frame), due, due))
      end
      call('ZADD', DELAYED, due, id)
      answers[k - 3], moved, is_moved[id] = 'm', moved + 1, true
    end
  end
  if moved > 0 and PROMOTED then
    lower_next_due(due)
  end
  -- Wakes up processes that sleep until a later due time (D5).
  if moved > 0 and due <= now then
    wake_up(ARRIVALS, moved)
  elseif is_moved[call('ZRANGE', DELAYED, 0, 0)[1]] then
    wake_up(ARRIVALS, 1)
  end
  return table.concat(answers)
end

return reschedule()

--- @part "reconfigure"
-- reconfigure: stores another configuration, and trims the dead letters to its cap, up to 128. Gives groups another
-- rate, some 1,000 in a call.
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] configuration: '' to continue with the stored one
-- ARGV[4] not used; see `rotating/ring#reconfigure`
-- Returns the number of dead letters that are left to trim, 1 at least if groups are left. Or -n if another order is
-- refused, because n messages are there in the old one.
-- needs: DELAYED, LEASES, change_config, change_rates, config, count_ready, reclaim, trim
--- @include "lib/config#state"

local function reconfigure()
  --- @include "lib/reclaim"
  --- @include "lib/limits#change"
  --- @include "{kind}/queue#counts"
  --- @include "{kind}/queue#change_rates"

  reclaim()
  local old_rate = string.match(config, ' group_rate=%S+')
  if ARGV[3] ~= '' then
    local function order_of(text)
      return string.match(text, ' ageing=%S+') or string.match(text, ' per_group=%S+ loose=%S+')
    end
    local kept = count_ready()
    if string.find(config, ' per_group=', 1, true) then
      kept = kept + call('ZCARD', DELAYED) + call('ZCARD', LEASES)
    end
    if kept > 0 and order_of(config) ~= order_of(ARGV[3]) then
      return -kept
    end
    change_config(ARGV[3])
  end
  local more = change_rates and change_rates(old_rate ~= string.match(config, ' group_rate=%S+'))
  return math.max(trim(), more and 1 or 0)
end

return reconfigure()
