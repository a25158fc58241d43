-- Operators.
-- needs: ARRIVALS, META
-- gives: meta
--- @include "lib/call"
--- @include "{kind}/queue"
call('ZREM', ARRIVALS, '')
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet', 'token', 'acked')
--- @include "lib/config"

--- @part "pause"
-- pause: leases answer nothing until `resume`.
-- Returns 1.
-- needs: META, flags
if not string.find(flags, 'p', 1, true) then
  call('HSET', META, 'flags', flags .. 'p')
end
return 1

--- @part "resume"
-- resume: hands out messages again, and wakes who waits.
-- Returns 1.
-- needs: ARRIVALS, META, arm, flags
--- @include "lib/wake_up"
local others = string.gsub(flags, 'p', '')
if others == '' then
  call('HDEL', META, 'flags')
else
  call('HSET', META, 'flags', others)
end
arm(ARRIVALS, MANY)
return 1

--- @part "purge"
-- purge: removes messages that are ready, in delivery order, then delayed ones, by (due, id).
-- ARGV[3] how many, no more than one call may
-- ARGV[4] there if this goes on with a purge that has begun
-- Returns how many it removed: fewer if there are no more.
-- needs: forget, gone, take_out, tidy
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  --- @include "lib/line#take_out"
  if not ARGV[4] then
    tidy()
  end
  local ids, removed = take_out(tonumber(ARGV[3]), 'purged')
  if ids[1] then
    gone(ids)
    forget(ids)
  end
  return removed
end
return slow_path()

--- @part "cancel"
-- cancel: takes undelivered messages out (L15).
-- ARGV[3 …] ids
-- Returns one letter each: c cancelled, t too late, n never was.
-- needs: accepted, add_to, forget, gone, tidy, withdraw
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  --- @include "{kind}/queue#lookup"
  tidy()
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
    gone(ids)
    forget(ids)
    add_to('cancelled', #ids)
  end
  return table.concat(answers)
end
return slow_path()

--- @part "reconfigure"
-- reconfigure: stores another configuration, and trims the dead letters to its cap, as far as one call may.
-- ARGV[3] the configuration; '' to go on trimming by the stored one
-- ARGV[4] not used, see `rotating/reconfigure`
-- Returns how many dead letters are left to trim; or -n if another ageing is refused, since n messages
-- are ready, in an order by the old one.
-- needs: META, config, in_line, tidy, trim
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  --- @include "{kind}/queue#counts"
  tidy()
  if ARGV[3] ~= '' then
    local ready = in_line()
    if ready > 0 and string.match(config, 'ageing=%S+') ~= string.match(ARGV[3], 'ageing=%S+') then
      return -ready
    end
    config = ARGV[3] .. (string.match(config, ' unlisted=%x+$') or '') -- the mark stays, see `config`
    call('HSET', META, 'config', config)
  end
  return trim()
end
return slow_path()
