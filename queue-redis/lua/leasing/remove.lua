-- remove: takes a queue off the server, of whatever kind: all its keys, in one step.
--
-- UNLINK takes away a key's name, whatever the key holds, and a thread beside the server's own frees
-- its memory. So this costs the same for a million messages as for none, and needs no chunks.
--
-- needs: count_leases
-- KEYS[1] meta, KEYS[2] leases, KEYS[3] runs, KEYS[4] frames, KEYS[5] arrivals, KEYS[6] room, KEYS[7 …] all
-- others of every kind
-- ARGV[2] 1 if leased messages go too, 0 if they forbid it
-- ARGV[3] the version of the layout that the caller knows
-- ARGV[4 …] the type that each key has
-- Returns {what, live leases, configuration or ''}. What is a letter: r removed, a no key was there, l refused for
-- its leases, o refused since another layout may have other keys.
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
