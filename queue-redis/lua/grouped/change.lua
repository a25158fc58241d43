-- change: gives a group a rule or a pause for a time, or ends it.
-- KEYS[…] the queue's keys, see `grouped/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] name: of the group
-- ARGV[4] rule a rule, pause a pause
-- ARGV[5] lasts: in ms; 0 to end it
-- ARGV[6] weight, ARGV[7] at_once: of a rule; 0 for no number at once
-- Returns 1.
-- needs: ARRIVALS, META, PARKED, RULES, lower_next_due, reclaim, state_of, store_rule, wake_up
-- gives: meta
--- @include "lib/call"
--- @include "{kind}/queue"
call('ZREM', ARRIVALS, '') -- removes nothing, see `lib/config`
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"

local function change()
  --- @include "lib/writes#lower_next_due"
  --- @include "lib/reclaim"

  reclaim()
  local lasts, at_once = tonumber(ARGV[5]), tonumber(ARGV[7])
  local state, ends = state_of(ARGV[3]), lasts > 0 and now + lasts or 0
  state.rule_ends, state.paused_until, state.at_once = state.rule_ends or 0, state.paused_until or 0, state.at_once or 0
  if ARGV[4] == 'rule' then
    state.weight, state.at_once, state.rule_ends = tonumber(ARGV[6]), at_once, ends
  else
    -- A pause changes nothing for a parked group.
    state.paused_until = state.paused_until == PARKED and ends > 0 and PARKED or ends
  end
  local first = store_rule(ARGV[3])
  if first then
    lower_next_due(first)
    -- A process that sleeps until a later time must learn of this one.
    if call('ZRANGE', RULES, 0, 0)[1] == ARGV[3] then
      wake_up(ARRIVALS, 1)
    end
  end
  return 1
end

return change()
