-- counters: what the queue holds and has done; `depth` is read from it too.
-- Returns JSON of queue_core::Counters. What is still expired or due counts as ready.
-- needs: DEAD, DEDUP, DELAYED, META, clear_marks, count_leases, flags, in_line, oldest_since, tidy, writable
--- @include "lib/call"
--- @include "{kind}/queue"
--- @include "lib/call#read_only"
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  --- @include "lib/writes#clear_marks"
  --- @include "lib/batch_leases#count"
  --- @include "{kind}/queue#counts"
  if writable then
    tidy()
    clear_marks()
  end
  local counted = {
    'accepted', 'acked', 'retried', 'deferred', 'released', 'expired', 'died', 'revived', 'evicted', 'replaced',
    'cancelled', 'discarded', 'trimmed', 'purged', 'outdated',
  }
  local counts = call('HMGET', META, unpack(counted))
  local leased, with_expired = count_leases()
  local delayed = call('ZCOUNT', DELAYED, '(' .. now_text, '+inf')
  local ready = in_line() + with_expired - leased + call('ZCARD', DELAYED) - delayed
  local since = oldest_since()

  -- A number that somebody damaged counts as zero.
  local function whole(text)
    local number = tonumber(text) or 0
    return number >= 0 and number < 100000000000000 and math.floor(number) or 0
  end

  local age = since and whole(now - since)
  local reply = {
    depth = { ready = whole(ready), delayed = delayed, leased = leased, dead = call('ZCARD', DEAD) },
    dedup_marks = call('ZCARD', DEDUP),
    oldest_ready = age and { secs = math.floor(age / 1000), nanos = age % 1000 * 1000000 },
    paused = string.find(flags, 'p', 1, true) ~= nil,
  }
  for k, name in ipairs(counted) do
    reply[name] = whole(counts[k])
  end
  return cjson.encode(reply)
end
return slow_path()
