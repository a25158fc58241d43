-- needs: ARRIVALS, ENDS, FRAMES, LEASES, LINE, META, PROMOTED, RUNS, acked_of, add_to, arm, attempts_of, break_up
-- needs: config, die, fields_of, forget, give_back, gone, holders, is_sound, leave, limited, outdated_left, place_of
-- needs: promote, quiet_until, reframe, sweep, wait_on
-- gives: end_leases, tidy
--- @include "lib/wake_up"
--- @include "{kind}/queue#line"
--- @include "{kind}/queue#moves"
--- @include "lib/line#place_of"
--- @include "lib/frames#edit"
--- @include "lib/attachments#wait_on"
--- @include "lib/batch_leases#separate"
--- @include "lib/uploads"
-- Ending leases of messages that stay.
local function end_leases(members)
  call('ZREM', LEASES, unpack(members))
  if holders then
    local names = {}
    for k = 1, #members do
      names[k] = 'h' .. sub(members[k], 1, 7)
    end
    call('HDEL', FRAMES, unpack(names))
  end
end
-- Ending what is outdated (L17).

-- Drops or buries up to 128 outdated messages, by (end, id).
local function outdate()
  local over = call('ZRANGEBYSCORE', ENDS, '-inf', now_text, 'LIMIT', 0, MANY)
  outdated_left = false
  if not over[1] then
    return
  end
  local kept = call('HMGET', FRAMES, unpack(fields_of('e', over)))
  local dropped, buried, ended = {}, {}, {}
  for k, id in ipairs(over) do
    local fate = kept[k] and #kept[k] == 8 and byte(kept[k], 8)
    if fate == 100 then
      dropped[#dropped + 1] = id
    elseif fate == 98 then
      buried[id] = true
    else
      -- Nobody knows any more what is to become of it, so it stays, and has no end.
      call('ZREM', ENDS, id)
      call('HDEL', FRAMES, 'e' .. id)
    end
    if fate == 100 or fate == 98 then
      ended[#ended + 1] = id
    end
  end
  if dropped[1] then
    add_to('outdated', #dropped)
  end
  for _, id in ipairs(ended) do
    local key, member = place_of(id)
    -- An end without a message is a leftover of foreign hands: it is dropped.
    if key then
      local frame = buried[id] and (call('HGET', FRAMES, id) or '')
      if frame then
        die(id, frame, is_sound(frame, id) and 'o' or 'd', '')
      end
      leave(key, member)
    end
  end
  if ended[1] then
    gone(ended)
  end
  if dropped[1] then
    forget(dropped)
  end
  outdated_left = #over == MANY and call('ZCOUNT', ENDS, '-inf', now_text) > 0
end
-- What every verb does first (L7), once the time has come (see `quiet`): takes back up to 128 expired leases
-- by (deadline, id), then promotes up to 128 delayed messages by (due, id), then ends up to 128 outdated ones
-- by (end, id).
local NEVER = 9007199254740991 -- in ms; no due time is as late

-- The first leases that have expired, and their deadlines.
local function first_expired()
  return call('ZRANGEBYSCORE', LEASES, '-inf', now_text, 'WITHSCORES', 'LIMIT', 0, MANY)
end

-- The same, each for one message. Runs of one deadline may have ids between those of another, so this looks again
-- until it finds none.
local function find_expired()
  while true do
    local expired, messages, found = first_expired(), 0, {}
    for k = 1, #expired, 2 do
      local member = expired[k]
      local is_run = messages < MANY and #member >= 15 and call('ZSCORE', RUNS, member)
      messages = messages + (is_run and byte(member, 15) - #acked_of(member) or 1)
      if is_run then
        found[#found + 1] = member
      end
    end
    if not found[1] then
      return expired
    end
    for k = 1, #found do
      break_up(found[k])
    end
  end
end

local function reclaim()
  local expired = find_expired()
  if not expired[1] then
    return
  end
  local count = #expired / 2
  -- The first write wants memory: on a full server a push fails here, with nothing changed.
  add_to('expired', count)
  local max_attempts = tonumber(string.match(config, 'max_attempts=(%d+)'))
  local members, dead = {}, {}
  for first = 1, count, CHUNK do
    local last = math.min(first + CHUNK - 1, count)
    local ids = {}
    for k = first, last do
      members[k] = expired[2 * k - 1]
      ids[#ids + 1] = sub(members[k], 1, 7)
    end
    local frames = call('HMGET', FRAMES, unpack(ids))
    local back, kept, waiting = {}, {}, {}
    for k = 1, #ids do
      local id, frame = ids[k], frames[k]
      if not frame or not is_sound(frame, id) then
        -- What is too short for an id was never a lease.
        if #id == 7 then
          die(id, frame or '', 'd', '')
          dead[#dead + 1] = id
        end
      else
        local attempts = attempts_of(frame) + 1
        frame = reframe(frame, attempts)
        if attempts >= max_attempts then
          die(id, frame, 'e', '')
          dead[#dead + 1] = id
        else
          kept[#kept + 1] = id
          kept[#kept + 1] = frame
          waiting[#waiting + 1] = id
          give_back(back, id, frame, tonumber(expired[2 * (first + k - 1)]))
        end
      end
    end
    if back[1] then
      call('HSET', FRAMES, unpack(kept))
      call('ZADD', LINE, unpack(back))
      wait_on(waiting)
      arm(ARRIVALS, #back / 2)
    end
  end
  if dead[1] then
    gone(dead)
  end
  end_leases(members)
end

-- The first time at which there will be something to do.
local function look_ahead()
  local first = NEVER
  for _, key in ipairs({ LEASES, PROMOTED or LEASES, limited and ENDS or LEASES }) do
    first = math.min(first, tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) or first)
  end
  return first
end

local function tidy()
  if now < quiet_until then
    return
  end
  reclaim()
  promote()
  if limited then
    outdate()
  end
  quiet_until = math.max(look_ahead(), 0)
  -- On a full server a push fails here at the latest: this wants memory, as every first write has to.
  call('HSET', META, 'quiet', string.format('%d', quiet_until))
  if sweep then
    sweep()
  end
end
