-- A grouped queue: its keys, and the parts that leasing verbs include as `{kind}/queue#…`.
-- KEYS[1] to KEYS[10] as below; KEYS[11] is the guard; KEYS[12 …] only in calls that need them
-- src/keys.rs describes each key.
-- gives: ARRIVALS, BODIES, DEAD, DEDUP, DELAYED, ENDS, EXTRA_HEAD, FIRSTS, FRAMES, GROUPS, LEASES, LINE, META
-- gives: PROMOTED, RUNS, TURNS, UPLOADS
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, RUNS, GROUPS, TURNS = unpack(KEYS)
local DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 12)
local EXTRA_HEAD = 1 -- bytes that a frame's head has beyond 15
local PROMOTED = DELAYED -- the key that `promote_due` reads

--- @part "results"
-- The keys of results, in calls that store or find them.
-- gives: END_MARKERS, RESULTS, RESULT_ENDS
local RESULTS, RESULT_ENDS = unpack(KEYS, 17, 18)
local END_MARKERS = 18 -- the keys behind this one

--- @part "fast_lease"
-- A grouped queue has no fast path.
-- needs: fast, only_acks
-- gives: next_list, next_places
local next_list, next_places = nil, {}
fast, only_acks = false, false

--- @part "groups"
-- The groups. A group's name is its key behind a byte with the key's length - 1, so that no name begins as another.
-- - LINE    all ready messages, with equal scores: name, a byte (0 for those that came back, 1 for the others), id; or
--           name, 1, and a place that ends in the id
-- - GROUPS  name to turn (7 bytes), number of held places (4 bytes), and the id that took the last of them (7 bytes); for
--           groups with ready messages or held places
-- - TURNS   the same groups: those that may run by their turns (G3), the others behind all turns
--
-- FRAMES has the name of the group in the field 'g' and id, while the message holds a place (G2). So the places of a
-- group are its leases, and in strict order its messages that wait after a retry or a defer. `virtual` in META is the
-- virtual time.
-- needs: FRAMES, GROUPS, LINE, META, TURNS, config
-- gives: BEHIND, end_places, hold, keep_place, loose, per_group, regroup, regroup_members, state_of
local per_group, loose = string.match(config, ' per_group=(%d+) loose=(%d)')
per_group, loose = tonumber(per_group), loose == '1'
local STATE = '>I7I4c7'
local BEHIND = 'inf' -- the score of groups that may not run
local LATEST = 9007199254740000 -- a damaged turn is above
local states = {} -- by name, as far as this call has read them
local stays = {} -- ids of messages whose leases end, and that keep their places
local virtual

local function virtual_time()
  if not virtual then
    virtual = tonumber(call('HGET', META, 'virtual') or 0) or 0
    virtual = virtual >= 0 and virtual < LATEST and virtual or 0
  end
  return virtual
end

-- The turn and the held places of a group.
local function state_of(name)
  local state = states[name]
  if not state then
    local stored = call('HGET', GROUPS, name)
    local turn, held, last = 0, 0, string.rep('\0', 7)
    if stored and #stored == 18 then
      turn, held, last = decode(STATE, stored)
    end
    if turn < 1 or turn >= LATEST then
      turn = virtual_time() + 1
    end
    state = { turn = turn, held = held, last = last, stored = stored }
    states[name] = state
  end
  return state
end

-- Stores a group's state, and whether it may run now. `has_ready` saves the search for a ready message. Returns 1 if
-- the group may run.
local function regroup(name, has_ready)
  local state = state_of(name)
  local may_run = state.held < per_group
  local ready = has_ready or (may_run or state.held == 0)
    and call('ZRANGEBYLEX', LINE, '[' .. name, '(' .. name .. '\2', 'LIMIT', 0, 1)[1]
  may_run = may_run and ready
  if not ready and state.held == 0 then
    call('HDEL', GROUPS, name)
    call('ZREM', TURNS, name)
    states[name] = nil
    return 0
  end
  if may_run then
    state.turn = math.max(state.turn, virtual_time())
  end
  local text = pack(STATE, state.turn, state.held, state.last)
  if text ~= state.stored then
    state.stored = text
    call('HSET', GROUPS, name, text)
  end
  call('ZADD', TURNS, may_run and string.format('%d', state.turn) or BEHIND, name)
  return may_run and 1 or 0
end

-- The name in a member of LINE.
local function name_in(member)
  return sub(member, 1, byte(member, 1) + 2)
end

-- Regroups after these members have left LINE.
local function regroup_members(members)
  local seen = {}
  for k = 1, #members do
    local name = name_in(members[k])
    if not seen[name] then
      seen[name] = true
      regroup(name)
    end
  end
end

-- Lets the picked messages hold places, in the turns of their groups.
local function hold(picked)
  if not picked.ids[1] then
    return
  end
  for _, id in ipairs(picked.ids) do
    local state = state_of(picked.names[id])
    virtual = math.max(virtual_time(), state.turn)
    state.turn, state.held, state.last = virtual + 1, state.held + 1, id
  end
  call('HSET', META, 'virtual', string.format('%d', virtual_time()))
end

-- Lets a message keep its place when its lease ends, because it waits for a retry (G2).
local function keep_place(id)
  stays[id] = not loose
end

-- Ends the places that these messages hold. Returns how many of their groups may run now.
local function end_places(ids)
  local fields, ended, names, came = {}, {}, {}, 0
  for k = 1, #ids do
    fields[k] = 'g' .. ids[k]
  end
  for k, name in ipairs(call('HMGET', FRAMES, unpack(fields))) do
    if stays[ids[k]] then
      stays[ids[k]] = nil
    elseif name then
      local state = state_of(name)
      state.held = math.max(state.held - 1, 0)
      ended[#ended + 1] = fields[k]
      names[name] = true
    end
  end
  if ended[1] then
    call('HDEL', FRAMES, unpack(ended))
    for name in pairs(names) do
      came = came + regroup(name)
    end
  end
  return came
end

--- @part "line"
-- The line of a grouped queue.
-- needs: BEHIND, DELAYED, HEAD, LINE, TURNS, WITH_PAST, end_attachments, per_group, read_frames, state_of
-- gives: any_left, free, group_of, pick
--- @include "lib/attachments"
--- @include "lib/sorted_line#frames"
local free = end_attachments

-- The name of the group of a valid frame.
local function group_of(frame)
  local at = HEAD + 1
  if byte(frame, 1) == WITH_PAST then
    at = at + 13 + decode('>I2', frame, at + 11)
  end
  return sub(frame, HEAD, HEAD) .. sub(frame, at, at + byte(frame, HEAD))
end

-- The members of the next up to `max` messages that may be leased, in the turns of their groups; and the names of
-- their groups, by id.
local function take_turns(max)
  local waiting = call('ZRANGEBYSCORE', TURNS, '-inf', '(' .. BEHIND, 'WITHSCORES', 'LIMIT', 0, max)
  local members, names = {}, {}
  local next_ones = {} -- by turn, then by name
  for k = 1, #waiting, 2 do
    local held = state_of(waiting[k]).held
    next_ones[#next_ones + 1] = { name = waiting[k], turn = tonumber(waiting[k + 1]), places = per_group - held }
  end
  local first = 1
  while #members < max and next_ones[first] do
    local group = next_ones[first]
    first = first + 1
    if not group.members then
      -- Its own share, and some more if it is almost alone.
      local share = math.ceil((max - #members) / (#next_ones - first + 2))
      share = math.min(share, group.places)
      group.members = call('ZRANGEBYLEX', LINE, '[' .. group.name, '(' .. group.name .. '\2', 'LIMIT', group.from or 0,
        share)
      group.from, group.at, group.more = (group.from or 0) + #group.members, 1, #group.members == share
    end
    local member = group.members[group.at]
    if member then
      members[#members + 1] = member
      names[sub(member, -7)] = group.name
      group.at, group.turn, group.places = group.at + 1, group.turn + 1, group.places - 1
      if not group.members[group.at] then
        group.members = nil
      end
      if group.places > 0 and (group.members or group.more) then
        local at = first
        while next_ones[at] and (next_ones[at].turn < group.turn
          or next_ones[at].turn == group.turn and next_ones[at].name < group.name) do
          next_ones[at - 1] = next_ones[at]
          at = at + 1
        end
        first = first - 1
        next_ones[at - 1] = group
      end
    end
  end
  return members, names
end

-- The next up to `max` messages that may be leased, as many as fit into one reply; moves nothing. With `any`, the
-- first ready messages as they are shown, whether their groups may run or not.
local function pick(max, any)
  if any then
    return read_frames(call('ZRANGE', LINE, 0, max - 1))
  end
  local members, names = take_turns(max)
  local picked = read_frames(members)
  picked.names = names
  for k, id in ipairs(picked.ids) do
    picked.fresh[2 * k - 1], picked.fresh[2 * k] = 'g' .. id, names[id]
  end
  return picked
end

-- Whether messages may be leased, or will be ready.
local function any_left()
  return call('EXISTS', DELAYED) > 0 or call('ZRANGEBYSCORE', TURNS, '-inf', '(' .. BEHIND, 'LIMIT', 0, 1)[1] ~= nil
end

--- @part "moves"
-- Moves messages into the line of a grouped queue.
-- needs: ARRIVALS, DELAYED, FRAMES, LINE, accepted, add_dead_letter, add_to, end_places, free, group_of, is_valid
-- needs: regroup, wake_up
-- gives: give_back, join_tail, promote_due
--- @include "lib/wake_up"
--- @include "lib/writes#add_to"

-- Adds the score and the member of a returned message to `back`: before the others of its group (L11).
local function give_back(back, id, frame)
  local before = group_of(frame) .. '\0'
  call('HSET', FRAMES, 'p' .. id, before)
  back[#back + 1] = 0
  back[#back + 1] = before .. id
end

-- Puts messages at the tails of their groups, in this order.
local function join_tail(ids, frames)
  local number = add_to('joins', #ids) - #ids
  local last = pack('>I7', accepted)
  local places, fields, names = {}, {}, {}
  for k = 1, #ids do
    local name = group_of(frames[k])
    local before = name .. '\1' .. last .. pack('>I7', number + k)
    places[2 * k - 1], places[2 * k] = 0, before .. ids[k]
    fields[2 * k - 1], fields[2 * k] = 'p' .. ids[k], before
    names[name] = true
  end
  call('HSET', FRAMES, unpack(fields))
  call('ZADD', LINE, unpack(places))
  for name in pairs(names) do
    regroup(name, true)
  end
  wake_up(ARRIVALS, #ids)
end

-- Moves due messages to the tails of their groups; or to the heads, if they hold places (G2).
local function promote_due()
  local due = call('ZRANGEBYSCORE', DELAYED, '-inf', now_text, 'LIMIT', 0, MANY)
  for first = 1, #due, CHUNK do
    local ids, frames, back, returned = {}, {}, {}, {}
    local chunk, fields = { unpack(due, first, math.min(first + CHUNK - 1, #due)) }, {}
    for k = 1, #chunk do
      fields[k], fields[#chunk + k] = chunk[k], 'g' .. chunk[k]
    end
    local read = call('HMGET', FRAMES, unpack(fields))
    for k = 1, #chunk do
      if read[k] and is_valid(read[k], chunk[k]) then
        if read[#chunk + k] then
          give_back(back, chunk[k], read[k])
          returned[#returned + 1] = chunk[k]
        else
          ids[#ids + 1], frames[#frames + 1] = chunk[k], read[k]
        end
      elseif #chunk[k] == 7 then
        add_dead_letter(chunk[k], read[k] or '', 'd', '')
        free({ chunk[k] })
        end_places({ chunk[k] })
      end
    end
    if ids[1] then
      join_tail(ids, frames)
    end
    if back[1] then
      call('ZADD', LINE, unpack(back))
      end_places(returned)
      wake_up(ARRIVALS, #returned)
    end
  end
  if due[1] then
    call('ZREM', DELAYED, unpack(due))
  end
end

--- @part "counts"
-- Counts the line of a grouped queue.
-- needs: FRAMES, HEAD, LINE, SINCE
-- gives: count_ready, oldest_since

-- The number of ready messages, whether their groups may run or not.
local function count_ready()
  return call('ZCARD', LINE)
end

-- The longest time since which the head of a line has been ready; nil if none is. Of more than 1,000 lines, this
-- reads the first ones.
local function oldest_since()
  local since
  local head = call('ZRANGE', LINE, 0, 0)[1]
  for _ = 1, 1000 do
    if not head then
      break
    end
    local frame = call('HGET', FRAMES, sub(head, -7))
    if frame and #frame > HEAD then
      local ready = decode('>I7', frame, SINCE)
      since = since and math.min(since, ready) or ready
    end
    local behind = byte(head, 1) + 3 -- the byte behind the name
    local next_line = sub(head, 1, behind - 1) .. string.char((byte(head, behind) or 0) % 255 + 1)
    head = call('ZRANGEBYLEX', LINE, '[' .. next_line, '+', 'LIMIT', 0, 1)[1]
  end
  return since
end

--- @part "lookup"
--- @include "lib/sorted_line#lookup"
