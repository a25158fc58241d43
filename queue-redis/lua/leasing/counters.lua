-- counters: reads what the queue has and has done; `depth` is read from it, too. Expired and due messages count as
-- ready.
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- Returns JSON of queue_core::Counters.
-- needs: DEAD, DEDUP, DELAYED, META, allow, clear_marks, count_groups, count_leases, count_ready, flags
-- needs: oldest_since, reclaim, writable
--- @include "lib/call"
--- @include "{kind}/queue"
--- @include "lib/call#read_only"
--- @include "lib/config#state"

local function counters()
  --- @include "lib/reclaim"
  --- @include "lib/writes#clear_marks"
  --- @include "lib/batch_leases#count"
  --- @include "{kind}/queue#counts"

  if writable then
    reclaim()
    clear_marks()
  end
  local counted = {
    'accepted', 'acked', 'retried', 'deferred', 'released', 'expired', 'died', 'revived', 'evicted', 'replaced',
    'cancelled', 'discarded', 'trimmed', 'purged', 'outdated',
  }
  local counts = call('HMGET', META, unpack(counted))
  local leased, with_expired = count_leases()
  local delayed = call('ZCOUNT', DELAYED, '(' .. now_text, '+inf')
  local ready = count_ready() + with_expired - leased + call('ZCARD', DELAYED) - delayed
  local since = oldest_since()

  -- A damaged number counts as zero.
  local function whole(text)
    local number = tonumber(text) or 0
    return number >= 0 and number < 100000000000000 and math.floor(number) or 0
  end

  local next_token
  local has_limits = string.find(flags, 'l', 1, true)
  if has_limits then
    --- @include "lib/limits"
    local _, millis = allow(1)
    next_token = millis
  end
  local reply = {
    depth = { ready = whole(ready), delayed = delayed, leased = leased, dead = call('ZCARD', DEAD) },
    dedup_marks = call('ZCARD', DEDUP),
    groups = count_groups and count_groups() or 0,
    oldest_ready_ms = since and whole(now - since),
    next_token_ms = next_token,
    paused = string.find(flags, 'p', 1, true) ~= nil,
  }
  for k, name in ipairs(counted) do
    reply[name] = whole(counts[k])
  end
  return cjson.encode(reply)
end

return counters()
