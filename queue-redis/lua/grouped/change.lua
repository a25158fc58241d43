-- change: gives a group a rule or a pause for a time, or ends it.
-- KEYS[…] the queue's keys, see `grouped/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] name: of the group
-- ARGV[4] rule a rule, pause a pause
-- ARGV[5] lasts: in ms; 0 to end it
-- ARGV[6] weight, ARGV[7] at_once: of a rule; 0 for no number at once
-- ARGV[8] most, ARGV[9] per: the rate of a rule, in messages and ms; 0 for none
-- Returns 1.
-- needs: ARRIVALS, META, PARKED, RULES, flags, rates, reclaim, state_of, store_flags, store_rules, wake_up
-- gives: meta
--- @include "lib/call"
--- @include "{kind}/queue"
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"

local function change()
  --- @include "lib/config#store_flags"
  --- @include "lib/reclaim"

  reclaim()
  local lasts, at_once = tonumber(ARGV[5]), tonumber(ARGV[7])
  local state, ends = state_of(ARGV[3]), lasts > 0 and now + lasts or 0
  state.rule_ends, state.paused_until, state.at_once = state.rule_ends or 0, state.paused_until or 0, state.at_once or 0
  if ARGV[4] == 'rule' then
    state.weight, state.at_once, state.rule_ends = tonumber(ARGV[6]), at_once, ends
    local most, per = tonumber(ARGV[8]), tonumber(ARGV[9])
    state.own_most, state.own_per = most > 0 and most or nil, most > 0 and per or nil
    if rates then
      rates.fit(state)
    elseif most > 0 then
      store_flags(flags .. 'r') -- no group has a bucket yet
    end
  else
    -- A pause changes nothing for a parked group.
    state.paused_until = state.paused_until == PARKED and ends > 0 and PARKED or ends
  end
  store_rules({ ARGV[3] })
  -- A process that sleeps until a later time must learn of this one.
  if state.end_stored and call('ZRANGE', RULES, 0, 0)[1] == ARGV[3] then
    wake_up(ARRIVALS, 1)
  end
  return 1
end

return change()
