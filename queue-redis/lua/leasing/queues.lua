-- Queues as a whole.

--- @part "types"
-- Refuses to touch what is not queue-kit's.
-- ARGV[4 …] the type that each key has
-- Errors: WRONGTYPE  a key holds another type.
for k = 1, #KEYS do
  local found = redis.call('TYPE', KEYS[k]).ok
  if found ~= 'none' and found ~= ARGV[k + 3] then
    return redis.error_reply('WRONGTYPE the key ' .. KEYS[k] .. ' holds a ' .. found .. ', where a ' .. ARGV[k + 3]
      .. ' belongs')
  end
end

--- @part "open"
-- open: stores the configuration of a queue that does not exist yet, or returns the stored one.
-- For a rotating queue and a store of once keys too.
--
-- KEYS[1] meta, KEYS[2 …] all others of the kind
-- ARGV[1] the time, not used
-- ARGV[2] the configuration, of a queue with the mark that `config` describes; '' creates nothing
-- ARGV[3] a bounded queue's capacity, '' otherwise
-- ARGV[4 …] the type that each key has
-- Returns {configuration, capacity or 0, 1 if it was resized}; nil if nothing is stored.
--- @include "leasing/queues#types"
local call = redis.call
local stored = call('HMGET', KEYS[1], 'config', 'capacity', 'resized')
if not stored[1] then
  if ARGV[2] == '' then
    return false
  end
  call('HSET', KEYS[1], 'config', ARGV[2])
  if ARGV[3] ~= '' then
    call('HSET', KEYS[1], 'capacity', ARGV[3])
  end
  return { ARGV[2], tonumber(ARGV[3]) or 0, 0 }
end
return { stored[1], tonumber(stored[2]) or 0, stored[3] and 1 or 0 }

--- @part "listed"
-- listed: takes the mark off a queue that is in the list of queues now, see `config`.
--
-- The token keeps a late call from taking the mark off a later queue of this name.
-- KEYS[1] meta
-- ARGV[2] the token of the mark
-- Returns 1.
local call = redis.call
local config = call('HGET', KEYS[1], 'config') or ''
local mark = ' unlisted=' .. ARGV[2]
if string.sub(config, -#mark) == mark then
  call('HSET', KEYS[1], 'config', string.sub(config, 1, -#mark - 1))
end
return 1

--- @part "remove"
-- remove: takes a queue off the server, of whatever kind: all its keys, in one step.
--
-- UNLINK takes away a key's name, whatever the key holds, and a thread beside the server's own frees
-- its memory. So this costs the same for a million messages as for none, and needs no chunks.
--
-- KEYS[1] meta, KEYS[2] leases, KEYS[3] runs, KEYS[4] frames, KEYS[5] arrivals, KEYS[6] room, KEYS[7 …] all
-- others of every kind
-- ARGV[2] 1 if leased messages go too, 0 if they forbid it
-- ARGV[3] the version of the layout that the caller knows
-- ARGV[4 …] the type that each key has
-- Returns {what, live leases, configuration or ''}. What is a letter: r removed, a no key was there, l refused for
-- its leases, o refused since another layout may have other keys.
-- needs: count_leases
-- gives: FRAMES, LEASES, META, RUNS
--- @include "lib/call"
--- @include "leasing/queues#types"
-- A queue of any kind, as `remove` knows it.
local META, LEASES, RUNS, FRAMES = unpack(KEYS, 1, 4)
--- @include "lib/batch_leases#count"
local WAITING = 1000 -- processes to tell at one marker; others look by their timers
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
local gone = call('UNLINK', unpack(KEYS))
-- No changes to look for, but the queue is gone, and with it the registrations. A user who may not
-- publish has them look by their timers.
for marker = 5, 6 do
  for _, registered in ipairs(waiting[marker]) do
    redis.pcall('PUBLISH', string.match(registered, '^%S+'), '0 ' .. KEYS[marker])
  end
end
return { gone > 0 and 'r' or 'a', leased, config or '' }
