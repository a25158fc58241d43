-- Queues of every kind, and stores of once keys: `open`, `listed` and `remove`.

--- @part "types"
-- Refuses keys of other programs.
-- ARGV[4 …] the type of each key
-- Errors: WRONGTYPE  a key has another type. Nothing was done.
for k = 1, #KEYS do
  local found = redis.call('TYPE', KEYS[k]).ok
  if found ~= 'none' and found ~= ARGV[k + 3] then
    return redis.error_reply('WRONGTYPE the key ' .. KEYS[k] .. ' holds a ' .. found .. ', where a ' .. ARGV[k + 3]
      .. ' belongs')
  end
end

--- @part "open"
-- open: stores the configuration of a queue that does not exist yet, or returns the stored one. Rotating queues and
-- stores of once keys are opened by it, too.
-- KEYS[1] meta
-- KEYS[2 …] all other keys of the kind
-- ARGV[1] not used
-- ARGV[2] configuration: with the mark that `lib/config` describes; '' creates nothing
-- ARGV[3] capacity: of a bounded queue, in messages; '' otherwise
-- ARGV[4 …] the type of each key
-- Returns {configuration, capacity or 0, 1 if the capacity was resized}; nil if nothing is stored.
-- Errors: WRONGTYPE  a key has another type. Nothing was done.
--- @include "leasing/queues#types"
local call = redis.call
local stored = call('HMGET', KEYS[1], 'config', 'capacity', 'resized')
if not stored[1] then
  if ARGV[2] == '' then
    return false
  end
  call('HSET', KEYS[1], 'config', ARGV[2])
  local has_limits = string.find(ARGV[2], ' at_once=', 1, true) or string.find(ARGV[2], ' rate=', 1, true)
  local has_rates = string.find(ARGV[2], ' group_rate=', 1, true)
  if has_limits or has_rates then
    call('HSET', KEYS[1], 'flags', (has_limits and 'l' or '') .. (has_rates and 'r' or '')) -- see `lib/config`
  end
  if ARGV[3] ~= '' then
    call('HSET', KEYS[1], 'capacity', ARGV[3])
  end
  return { ARGV[2], tonumber(ARGV[3]) or 0, 0 }
end
return { stored[1], tonumber(stored[2]) or 0, stored[3] and 1 or 0 }

--- @part "listed"
-- listed: removes the mark of a queue that is in the list of queues now; see `lib/config`. The token keeps a late
-- call from removing the mark of a later queue with this name.
-- KEYS[1] meta
-- ARGV[1] not used
-- ARGV[2] token: of the mark
-- Returns 1.
local call = redis.call
local config = call('HGET', KEYS[1], 'config') or ''
local mark = ' unlisted=' .. ARGV[2]
if string.sub(config, -#mark) == mark then
  call('HSET', KEYS[1], 'config', string.sub(config, 1, -#mark - 1))
end
return 1

--- @part "remove"
-- remove: removes a queue of any kind: all its keys, in one step. UNLINK removes the names of the keys, and a thread
-- of the server frees the memory. So a million messages cost the same as none, and no steps are needed.
-- KEYS[1] meta, KEYS[2] leases, KEYS[3] runs, KEYS[4] frames, KEYS[5] arrivals, KEYS[6] room
-- KEYS[7 …] all other keys of every kind
-- ARGV[1] see `lib/call`
-- ARGV[2] force: 1 removes leased messages, too; 0 refuses if there are any
-- ARGV[3] layout: the version that the caller knows
-- ARGV[4 …] the type of each key
-- Returns {result, live leases, configuration or ''}. The result is a letter: r removed, a no key existed, l refused
-- because of leases, o refused because another layout may have other keys.
-- Errors: WRONGTYPE  a key has another type. Nothing was done.
-- needs: count_leases
-- gives: BATCH_LEASES, FRAMES, LEASES, META
--- @include "lib/call"
--- @include "leasing/queues#types"
local META, LEASES, BATCH_LEASES, FRAMES = unpack(KEYS, 1, 4)
--- @include "lib/batch_leases#count"
local WAITING = 1000 -- processes that are woken up at a marker; others poll by their timers
local config = call('HGET', KEYS[1], 'config')
if config and string.match(config, 'layout=(%d+)') ~= ARGV[3] then
  return { 'o', 0, config }
end
local leased = count_leases()
if leased > 0 and ARGV[2] == '0' then
  return { 'l', leased, config or '' }
end
local waiting = {}
for marker = 5, 6 do
  waiting[marker] = call('ZRANGEBYSCORE', KEYS[marker], '(' .. now_text, '+inf', 'LIMIT', 0, WAITING)
end
local removed = call('UNLINK', unpack(KEYS))

-- Registrations are removed with the queue, so each process is woken up with zero changes. If the user may not
-- publish, processes poll by their timers.
for marker = 5, 6 do
  for _, registered in ipairs(waiting[marker]) do
    redis.pcall('PUBLISH', string.match(registered, '^%S+'), '0 ' .. KEYS[marker])
  end
end
return { removed > 0 and 'r' or 'a', leased, config or '' }
