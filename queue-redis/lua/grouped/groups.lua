-- groups: shows a page of groups. First those that may run, in their turns; then the others, by key.
-- KEYS[…] the queue's keys, see `grouped/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] passed: the number of groups that were shown
-- ARGV[4] limit: the number of groups at most
-- Returns {passed of the next page or -1 at the end, now}. Behind them, for each group:
-- - key, ready messages, held places
-- - the time since which its next message is ready, or -1; 1 if it may run, or 0
-- - the id that holds its only place, or ''; the due time of that message if it waits, or -1
-- - its weight, and how many places may be held; the ends of its rule and of its pause, or -1; -2 if it is parked
-- - the messages and the ms of its rate, or 0; the time of its next token, or -1 if it has one now, or no rate
--
-- needs: BEHIND, DELAYED, FRAMES, HEAD, LINE, PARKED, SINCE, TURNS, loose, most_of, reclaim, state_of, writable
--- @include "lib/call"
--- @include "{kind}/queue"
--- @include "lib/call#read_only"
--- @include "lib/config#state"

local function groups()
  --- @include "lib/reclaim"

  if writable then
    reclaim()
  end
  local passed, limit = tonumber(ARGV[3]), tonumber(ARGV[4])
  local shown = call('ZRANGE', TURNS, passed, passed + limit, 'WITHSCORES')
  local more = #shown > 2 * limit
  local reply = { more and passed + limit or -1, now }
  for k = 1, more and 2 * limit or #shown, 2 do
    local name = shown[k]
    local first, last = '[' .. name, '(' .. name .. '\2'
    local state = state_of(name)
    local head = call('ZRANGEBYLEX', LINE, first, last, 'LIMIT', 0, 1)[1]
    local frame = head and call('HGET', FRAMES, sub(head, -7))
    local by = not loose and state.held > 0 and state.last or ''
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = sub(name, 2), call('ZLEXCOUNT', LINE, first, last), state.held
    reply[at + 4] = frame and #frame > HEAD and decode('>I7', frame, SINCE) or -1
    reply[at + 5] = shown[k + 1] == BEHIND and 0 or 1
    reply[at + 6] = by
    reply[at + 7] = by ~= '' and tonumber(call('ZSCORE', DELAYED, by)) or -1
    reply[at + 8], reply[at + 9] = state.weight, most_of(state)
    reply[at + 10] = (state.rule_ends or 0) > 0 and state.rule_ends or -1
    local paused_until = state.paused_until or 0
    reply[at + 11] = paused_until == PARKED and -2 or paused_until > 0 and paused_until or -1
    reply[at + 12], reply[at + 13], reply[at + 14] = state.most or 0, state.per or 0, state.token_comes or -1
  end
  return reply
end

return groups()
