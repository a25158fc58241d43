-- The limits of a whole queue, if its configuration has any: of messages under leases (Q1), and of deliveries in a
-- time (Q2). The flag `l` says so, and takes calls off the fast path; other queues pay nothing.
--
-- The rate is a bucket of `most` tokens. META has what deliveries took and time has not given back: `rate_used` at the
-- time `rate_at`, in whole numbers: each delivery takes `per` (ms), and each ms gives `most` back.
-- needs: LEASES, META, config
-- gives: allow, most, per, spend, spent
local at_once = tonumber(string.match(config, ' at_once=(%d+)'))
local most, per = string.match(config, ' rate=(%d+)/(%d+)')
most, per = tonumber(most), tonumber(per)
local spent = 0 -- now
local went_back = false -- whether the clock did, since the last delivery

-- The number of messages that may be leased now, up to `asked_for`; and the ms until the next token, if there is none.
local function allow(asked_for)
  local token_comes
  if at_once then
    -- Expired leases that nobody has reclaimed count, too.
    local leases = call('ZCARD', LEASES) + (tonumber(call('HGET', META, 'uncounted')) or 0)
    asked_for = math.min(asked_for, math.max(at_once - leases, 0))
  end
  if most then
    local stored = call('HMGET', META, 'rate_used', 'rate_at')
    local at = tonumber(stored[2]) or now
    went_back = now < at
    spent = math.max((tonumber(stored[1]) or 0) - math.max(now - at, 0) * most, 0)
    -- A damaged number counts as an empty bucket.
    spent = spent <= most * per and spent or most * per
    local tokens = math.floor((most * per - spent) / per)
    if tokens < 1 then
      token_comes = math.ceil((spent + per - most * per) / most)
    end
    asked_for = math.min(asked_for, tokens)
  end
  return asked_for, token_comes
end

-- Takes a token for each of `count` deliveries, behind `allow`. If the clock went back, time gives tokens back again
-- from here on.
local function spend(count)
  if most and (count > 0 or went_back) then
    call('HSET', META, 'rate_used', string.format('%d', spent + count * per), 'rate_at', now_text)
  end
end

--- @part "change"
-- needs: ARRIVALS, META, allow, config, flags, most, per, spent, store_flags, wake_up
-- gives: change_config
--- @include "lib/config#store_flags"

-- Stores another configuration, with its limits. A rate that stays the same keeps its bucket. With another rate, the
-- bucket is as full as before. `{kind}/queue#change_rates` changes the rates of groups.
local function change_config(text)
  local function limits_of(of)
    local of_groups = string.match(of, ' group_rate=%d+/%d+') or ''
    return string.match(of, ' at_once=%d+') or '', string.match(of, ' rate=%d+/%d+') or '', of_groups
  end
  local old_at_once, old_rate, old_of_groups = limits_of(config)
  local new_at_once, new_rate, new_of_groups = limits_of(text)
  config = text .. (string.match(config, ' unlisted=%x+$') or '') -- the mark stays, see `lib/config`
  call('HSET', META, 'config', config)
  if old_at_once == new_at_once and old_rate == new_rate and old_of_groups == new_of_groups then
    return
  end
  if old_rate ~= new_rate then
    local new_most, new_per = string.match(new_rate, '(%d+)/(%d+)')
    if most and new_most then
      allow(0) -- reads the bucket
      local used = math.ceil(spent / (most * per) * (new_most * new_per))
      call('HSET', META, 'rate_used', string.format('%d', used), 'rate_at', now_text)
    else
      call('HDEL', META, 'rate_used', 'rate_at')
    end
  end
  flags = string.gsub(flags, 'l', '') .. (new_at_once .. new_rate ~= '' and 'l' or '')
  if new_of_groups ~= '' and not string.find(flags, 'r', 1, true) then
    flags = flags .. 'r'
  end
  store_flags(flags)
  wake_up(ARRIVALS, MANY)
end
