-- Every verb that reads or changes messages first reclaims (L7), if `next_due` has come:
-- - takes back up to 128 expired leases, by (deadline, id)
-- - promotes up to 128 delayed messages, by (due, id)
-- - ends up to 128 messages past their time to live, by (end, id)
-- needs: ARRIVALS, BATCH_LEASES, ENDS, FRAMES, LEASES, LINE, META, PROMOTED, acked_of, add_dead_letter, add_ends
-- needs: add_to, attempts_of, config, end_places, fields_of, flags, forget, free, frees_at, give_back, has_ttl
-- needs: holders, is_valid, more_outdated, next_due, place_of, promote_due, reframe, remove_place, split_batch, sweep
-- needs: wake_up
-- gives: end_leases, reclaim
--- @include "lib/wake_up"
--- @include "{kind}/queue#line"
--- @include "{kind}/queue#moves"
--- @include "lib/line#place_of"
--- @include "lib/frames#edit"
--- @include "lib/attachments#add_ends"
--- @include "lib/batch_leases#split"
--- @include "lib/uploads"

-- Ends leases whose messages stay.
local function end_leases(members)
  call('ZREM', LEASES, unpack(members))
  if holders then
    local names = {}
    for k = 1, #members do
      names[k] = 'h' .. sub(members[k], 1, 7)
    end
    call('HDEL', FRAMES, unpack(names))
  end
  if end_places then
    local ids = {}
    for k = 1, #members do
      ids[k] = sub(members[k], 1, 7)
    end
    end_places(ids)
  end
end

-- Drops or buries up to 128 messages past their time to live, by (end, id) (L17).
local function end_outdated()
  local outdated = call('ZRANGEBYSCORE', ENDS, '-inf', now_text, 'LIMIT', 0, MANY)
  more_outdated = false
  if not outdated[1] then
    return
  end
  local kept = call('HMGET', FRAMES, unpack(fields_of('e', outdated)))
  local dropped, buried, ended = {}, {}, {}
  for k, id in ipairs(outdated) do
    local fate = kept[k] and #kept[k] == 8 and byte(kept[k], 8)
    if fate == 100 then
      dropped[#dropped + 1] = id
    elseif fate == 98 then
      buried[id] = true
    else
      -- The fate is damaged, so the message stays, without an end.
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
    -- An end without a message comes from another program, and is dropped.
    if key then
      local frame = buried[id] and (call('HGET', FRAMES, id) or '')
      if frame then
        add_dead_letter(id, frame, is_valid(frame, id) and 'o' or 'd', '')
      end
      remove_place(key, member)
    end
  end
  if ended[1] then
    free(ended)
  end
  if dropped[1] then
    forget(dropped)
  end
  more_outdated = #outdated == MANY and call('ZCOUNT', ENDS, '-inf', now_text) > 0
end

local NEVER = 9007199254740991 -- in ms; no due time is later

-- The first expired leases, and their deadlines.
local function first_expired()
  return call('ZRANGEBYSCORE', LEASES, '-inf', now_text, 'WITHSCORES', 'LIMIT', 0, MANY)
end

-- The same, with a lease for each message. Batch leases of one deadline may overlap by id, so this searches again
-- until it finds none.
local function find_expired()
  while true do
    local expired, messages, found = first_expired(), 0, {}
    for k = 1, #expired, 2 do
      local member = expired[k]
      local is_batch = messages < MANY and #member >= 15 and call('ZSCORE', BATCH_LEASES, member)
      messages = messages + (is_batch and byte(member, 15) - #acked_of(member) or 1)
      if is_batch then
        found[#found + 1] = member
      end
    end
    if not found[1] then
      return expired
    end
    for k = 1, #found do
      split_batch(found[k])
    end
  end
end

-- Takes back expired leases: their messages are ready again, or dead after the last attempt.
local function reclaim_expired()
  local expired = find_expired()
  if not expired[1] then
    return
  end
  local count = #expired / 2
  -- The first write needs memory: on a full server a push fails here, before anything changed.
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
      if not frame or not is_valid(frame, id) then
        -- A member that is too short for an id was never a lease.
        if #id == 7 then
          add_dead_letter(id, frame or '', 'd', '')
          dead[#dead + 1] = id
        end
      else
        local attempts = attempts_of(frame) + 1
        frame = reframe(frame, attempts)
        if attempts >= max_attempts then
          add_dead_letter(id, frame, 'e', '')
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
      add_ends(waiting)
      wake_up(ARRIVALS, #back / 2)
    end
  end
  if dead[1] then
    free(dead)
    -- Each left a place to another message (Q1, G6).
    local has_limits = string.find(flags, 'l', 1, true)
    if end_places or has_limits then
      wake_up(ARRIVALS, #dead)
    end
  end
  end_leases(members)
end

-- The first time at which there is something to reclaim.
local function find_next_due()
  local first = NEVER
  for _, key in ipairs({ LEASES, PROMOTED or LEASES, has_ttl and ENDS or LEASES }) do
    first = math.min(first, tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) or first)
  end
  return math.min(first, frees_at and frees_at(true) or first)
end

-- Reclaims, if `next_due` has come.
local function reclaim()
  if now < next_due then
    return
  end
  reclaim_expired()
  promote_due()
  if has_ttl then
    end_outdated()
  end
  next_due = math.max(find_next_due(), 0)
  -- On a full server a push fails here at the latest: this write needs memory, as the first write of a script must.
  call('HSET', META, 'next_due', string.format('%d', next_due))
  if sweep then
    sweep()
  end
end
