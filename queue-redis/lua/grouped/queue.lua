-- A grouped queue: its keys, and the parts that leasing verbs include as `{kind}/queue#…`.
-- KEYS[1] to KEYS[11] as below; KEYS[12] is the guard; KEYS[13 …] only in calls that need them
-- src/keys.rs describes each key.
-- gives: ARRIVALS, BATCH_LEASES, BODIES, DEAD, DEDUP, DELAYED, DISTINCT, ENDS, EXTRA_HEAD, FIRSTS, FRAMES, GROUPS
-- gives: LEASES, LINE, META, OWNED, PROMOTED, RULES, TURNS, UPLOADS
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, BATCH_LEASES, GROUPS, TURNS, RULES = unpack(KEYS)
local DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 13)
local DISTINCT, OWNED = nil, nil -- distinct keys are in FRAMES: see `lib/attachments`
local EXTRA_HEAD = 1 -- bytes that a frame's head has beyond 15
local PROMOTED = DELAYED -- the key that `promote_due` reads

--- @part "results"
-- The keys of results, in calls that store or find them.
-- gives: END_MARKERS, RESULTS, RESULT_ENDS
local RESULTS, RESULT_ENDS = unpack(KEYS, 19, 20)
local END_MARKERS = 20 -- the keys behind this one

--- @part "fast_lease"
-- A grouped queue leases one message in `fast_settle_and_lease`, and several on the slow path.
-- needs: fast
-- gives: next_list, next_places
local next_list, next_places = nil, {}
fast = fast and next_list ~= nil

--- @part "fast_settle_and_lease"
-- A turn of one message, after an ack or none: what `end_places`, `take_turns`, `hold` and `regroup` do together, in
-- fewer commands. Groups with rules and all that is rare take the slow path; nothing is written before that is known.
-- needs: ARRIVALS, DELAYED, FRAMES, GROUPS, HEAD, ID, LEASES, LINE, META, SINCE, TAGS, TURNS, acked, acked_now
-- needs: config, deadline, for_several, forgotten, lease_time, named_holders, next_due, only_acks, reply, token
-- needs: unattached, wake_up, wants
if only_acks and wants == 1 and unattached and not for_several and acked_now <= 1
  and (named_holders or ARGV[5] == '') then
  local per_group = tonumber(string.match(config, ' per_group=(%d+)'))
  local freed = acked_now == 1 and call('HGET', FRAMES, 'g' .. forgotten[1]) or ''
  -- The first two groups in turn, apart from the freed one.
  local waiting = call('ZRANGE', TURNS, '0', '2')
  local name, other = waiting[1], waiting[2]
  if name == freed then
    name, other = other, waiting[3]
  elseif other == freed then
    other = waiting[3]
  end
  local read = call('HMGET', GROUPS, '', freed == '' and '-' or freed, name or '-', other or '-')
  local virtual = tonumber(read[1] or 0)
  local is_sound = virtual and virtual >= 0 and virtual < 9007199254740000
  local freed_turn, freed_held, freed_last, members, freed_may_run = nil, 0, nil, {}, false
  if freed ~= '' then
    is_sound = is_sound and read[2] and #read[2] == 20
    if is_sound then
      freed_turn, freed_held, freed_last = decode('>dI4c7B', read[2])
      is_sound = freed_turn >= 1 and freed_turn < 9007199254740000 and freed_held > 0
      freed_held = freed_held - 1
      members = call('ZRANGEBYLEX', LINE, '[' .. freed, '(' .. freed .. '\2', 'LIMIT', 0, 2)
      freed_may_run = members[1] ~= nil and freed_held < per_group
    end
  end
  -- Whether these two may run; the states of the groups with rules are longer.
  local turn, held, others = nil, 0, false
  if is_sound and name then
    is_sound = read[3] and #read[3] == 20
    if is_sound then
      turn, held = decode('>dI4', read[3])
      name, others = byte(read[3], 20) == 1 and name, other and read[4] and byte(read[4], 20) == 1
    end
  end
  local chosen = name
  if is_sound and freed_may_run then
    local own, at = math.max(freed_turn, virtual), 1
    -- Bytes decide, because `<` compares texts by the server's locale.
    while name and own == turn and byte(freed, at) == byte(name, at) do
      at = at + 1
    end
    if not name or own < turn or own == turn and (byte(freed, at) or 0) < (byte(name, at) or 0) then
      chosen, turn, held = freed, own, freed_held
      others = name
    end
  end
  if is_sound and chosen and chosen == name then
    members = call('ZRANGEBYLEX', LINE, '[' .. name, '(' .. name .. '\2', 'LIMIT', 0, 2)
  end
  local member = is_sound and chosen and held < per_group and members[1]
  local id = member and sub(member, -7)
  local frame = id and call('HGET', FRAMES, id)
  if frame and #frame > HEAD and byte(frame, 1) < TAGS and sub(frame, ID, SINCE - 1) == id then
    call('ZADD', LEASES, deadline, id .. pack('>I7', token))
    local holder = ARGV[5]
    if holder == '' then
      call('HSET', FRAMES, 'g' .. id, chosen)
    else
      call('HSET', FRAMES, 'g' .. id, chosen, 'h' .. id, holder)
    end
    call('ZREM', LINE, member)
    local place = #member > byte(member, 1) + 10 and 'p' .. id
    if acked_now == 1 then
      call('HDEL', FRAMES, 'g' .. forgotten[1], place or 'g' .. forgotten[1])
    elseif place then
      call('HDEL', FRAMES, place)
    end
    virtual = math.max(virtual, turn)
    local has_more = members[2] ~= nil
    local next_turn, may_run = virtual + 1, has_more and held + 1 < per_group
    local number = virtual % 1 == 0 and '%d' or '%.17g' -- a whole number is printed in half the time
    local virtual_text = string.format(number, virtual)
    local score = may_run and string.format(number, next_turn) or 'inf'
    local state = pack('>dI4c7B', next_turn, held + 1, id, may_run and 1 or 0)
    if freed == '' or freed == chosen then
      call('ZADD', TURNS, score, chosen)
      call('HSET', GROUPS, chosen, state, '', virtual_text)
    elseif freed_held == 0 and not freed_may_run then
      call('ZADD', TURNS, score, chosen)
      call('ZREM', TURNS, freed)
      call('HSET', GROUPS, chosen, state, '', virtual_text)
      call('HDEL', GROUPS, freed)
    else
      freed_turn = freed_may_run and math.max(freed_turn, virtual) or freed_turn
      call('ZADD', TURNS, score, chosen, freed_may_run and string.format('%.17g', freed_turn) or 'inf', freed)
      local freed_state = pack('>dI4c7B', freed_turn, freed_held, freed_last, freed_may_run and 1 or 0)
      call('HSET', GROUPS, chosen, state, freed, freed_state, '', virtual_text)
    end
    if may_run or others or freed_may_run and freed ~= chosen or call('EXISTS', DELAYED) > 0 then
      wake_up(ARRIVALS, 1, true)
    end
    local token_text, acked_text = string.format('%d', token), string.format('%d', acked + acked_now)
    if now + lease_time < next_due then
      call('HSET', META, 'token', token_text, 'acked', acked_text, 'next_due', deadline)
    else
      call('HSET', META, 'token', token_text, 'acked', acked_text)
    end
    reply[2], reply[4] = token, frame
    return reply
  end
end

--- @part "groups"
-- The groups. A group's name is its key behind a byte with the key's length - 1, so that no name begins as another.
-- - LINE    all ready messages, with equal scores: name, a byte (0 for those that came back, 1 for the others), id; or
--           name, 1, and a place that ends in the id
-- - GROUPS  name to turn (8 bytes), number of held places (4 bytes), the id that took the last of them (7 bytes), and
--           whether the group may run (1 byte: 1 if it may, 2 if it waits for a token); for groups with ready messages
--           or held places, a rule or a pause.
--           With a rule or a pause: its weight (2 bytes) and number at once (4 bytes, 0 for none); the ends (ms) of
--           the rule and of the pause (7 bytes each, 0 for none, PARKED for a pause that only `resume` ends). If the
--           rule has a rate: its messages and its time in ms (4 bytes each).
--           With a bucket that is not full (Q3), last: what deliveries took and time has not given back at a time (7
--           bytes), that time (7 bytes), and the rate (8 bytes) by which these count. Each delivery takes the time of
--           the rate, and each ms gives back its messages. A group that is gone leaves its bucket, with turn 0.
--           '' to the virtual time
-- - TURNS   the same groups, but for those that are gone: those that may run by their turns (G3), the others behind all
--           turns
-- - RULES   those with a rule or a pause that ends, or that wait for a token, by the end that comes first
-- - FILLS   those with a bucket, by the time (ms) at which it is full
--
-- Turns are Lua's numbers, which `%.17g` prints exactly.
-- FRAMES has the name of the group in the field 'g' and id, while the message holds a place (G2). So the places of a
-- group are its leases, and in strict order its messages that wait after a retry or a defer.
-- needs: ENDS, FRAMES, GROUPS, HEAD, LINE, META, RULES, TURNS, WITH_PAST, config, fit_bucket, flags, has_ttl, next_due
-- needs: read_rate, take_token
-- gives: BEHIND, BUCKET, PARKED, count_groups, end_places, first_end, free_places, frees_at, group_of, hold, keep_place
-- gives: left_behind, loose, most_of, park, plain_place, rates, read_states, regroup, regroup_members, state_of, states
local per_group, loose = string.match(config, ' per_group=(%d+) loose=(%d)')
per_group, loose = tonumber(per_group), loose == '1'
local STATE, OWN, RATE, BUCKET = '>dI4c7B', '>I2I4I7I7', '>I4I4', '>I7I7I4I4'
local BEHIND = 'inf' -- the score of groups that may not run
local PARKED = 9007199254740991
local LATEST = 9007199254740000 -- a damaged turn is above
local states = {} -- by name, as far as this call has read them
local stays = {} -- ids of messages whose leases end, and that keep their places
local left_behind = {} -- what `pick` found out about the messages behind those that are leased now: see there
local virtual

-- The first end of a group's rule, of its pause, or of its wait for a token; nil for none.
local function first_end(state, token_comes)
  local rule_ends, paused_until = state.rule_ends or 0, state.paused_until or 0
  local first = math.min(rule_ends > 0 and rule_ends or PARKED, paused_until > 0 and paused_until or PARKED)
  first = token_comes and math.min(first, token_comes) or first
  return first < PARKED and first or nil
end

-- If a group ever had a rate: the functions of `grouped/queue#rates`, and the key FILLS, which calls send in that case
-- (see `lib/config`).
local rates
if string.find(flags, 'r', 1, true) then
  --- @include "grouped/queue#rates"
  rates = { fit = fit_bucket, spend = take_token, reread = read_rate, FILLS = KEYS[18] }
end

-- Reads the turns, the held places, the rules and the buckets of groups.
local function read_states(names)
  local asked = { '' }
  for k = 1, #names do
    if not states[names[k]] then
      asked[#asked + 1] = names[k]
    end
  end
  if not asked[2] then
    return
  end
  local read = call('HMGET', GROUPS, unpack(asked))
  if not virtual then
    virtual = tonumber(read[1] or 0) or 0
    virtual = virtual >= 0 and virtual < LATEST and virtual or 0
  end
  for k = 2, #asked do
    local stored, turn, held, last, may_run = read[k], 0, 0, string.rep('\0', 7), 0
    local behind = stored and #stored - 20
    local has_rate, has_bucket = behind == 28 or behind == 50, behind == 22 or behind == 42 or behind == 50
    local has_own = behind == 20 or has_rate or behind == 42
    if behind == 0 or has_own or has_bucket then
      turn, held, last, may_run = decode(STATE, stored)
    end
    local score = turn > 0 and (may_run == 1 and turn or BEHIND) or nil
    if not (turn >= 1 and turn < LATEST) then
      turn = virtual + 1
    end
    local state = { turn = turn, held = held, last = last, stored = stored, weight = 1, score = score }
    state.has_ready = may_run > 0 or nil -- nil if it is not known
    if has_own then
      state.weight, state.at_once, state.rule_ends, state.paused_until = decode(OWN, stored, 21)
      state.weight = math.max(state.weight, 1)
      state.end_stored = first_end(state)
    end
    if has_rate then
      state.own_most, state.own_per = decode(RATE, stored, 41)
    end
    if rates then
      rates.fit(state, has_bucket, may_run == 2)
    end
    states[asked[k]] = state
  end
end

-- The turn, the held places and the rule of a group.
local function state_of(name)
  if not states[name] then
    read_states({ name })
  end
  return states[name]
end

-- The most places that the messages of a group may hold, paused or not.
local function most_of(state)
  return loose and (state.at_once or 0) > 0 and state.at_once or per_group
end

-- The number of messages of a group that may be leased now.
local function free_places(state)
  local places = (state.paused_until or 0) > 0 and 0 or math.max(most_of(state) - state.held, 0)
  return state.tokens and math.min(places, state.tokens) or places
end

-- Stores the states of groups, and whether they may run now. `ready` says by name which groups have ready messages, and
-- saves the search for one. Returns how many may run, now or with their next tokens.
local function regroup(names, ready)
  local came, gone, scores, fields = 0, {}, {}, {}
  local unturned, ends, endless, fills, filled
  local soonest = math.huge -- of the times that are written
  read_states(names)
  for _, name in ipairs(names) do
    local state, has_ready = states[name], ready and ready[name]
    local is_free = (state.paused_until or 0) == 0 and state.held < most_of(state)
    if has_ready == nil and (is_free or state.held == 0) then
      has_ready = call('ZRANGEBYLEX', LINE, '[' .. name, '(' .. name .. '\2', 'LIMIT', 0, 1)[1] ~= nil
    end
    if (state.rule_ends or 0) == 0 and (state.paused_until or 0) == 0 then
      state.rule_ends, state.paused_until = nil, nil
    end
    local may_run = is_free and has_ready
    state.has_ready = may_run or nil
    local waits = may_run and state.tokens and state.tokens < 1
    came, may_run = may_run and came + 1 or came, may_run and not waits
    local is_gone, text = not has_ready and state.held == 0 and not state.rule_ends, nil
    if is_gone and state.used then
      text = pack(STATE, 0, 0, string.rep('\0', 7), 0)
      unturned = unturned or {}
      unturned[#unturned + 1] = state.score and name
    elseif is_gone then
      gone[#gone + 1] = name
    else
      if may_run then
        state.turn = math.max(state.turn, virtual)
      end
      local score = may_run and state.turn or BEHIND
      if score ~= state.score then
        state.score = score
        scores[#scores + 1], scores[#scores + 2] = may_run and string.format('%.17g', score) or BEHIND, name
      end
      text = pack(STATE, state.turn, state.held, state.last, may_run and 1 or waits and 2 or 0)
      if state.rule_ends then
        text = text .. pack(OWN, state.weight, state.at_once, state.rule_ends, state.paused_until)
      end
      if state.rule_ends and state.own_most then
        text = text .. pack(RATE, state.own_most, state.own_per)
      end
    end
    if state.used then
      text = text .. pack(BUCKET, state.used, state.at, state.most, state.per)
    end
    if text and text ~= state.stored then
      state.stored = text
      fields[#fields + 1], fields[#fields + 2] = name, text
    end
    local first = (state.rule_ends or waits) and first_end(state, waits and state.token_comes) or nil
    if first ~= state.end_stored then
      state.end_stored = first
      if first then
        ends = ends or {}
        ends[#ends + 1], ends[#ends + 2] = string.format('%d', first), name
        soonest = math.min(soonest, first)
      else
        endless = endless or {}
        endless[#endless + 1] = name
      end
    end
    if state.full ~= state.full_stored then
      state.full_stored = state.full
      if state.full then
        fills = fills or {}
        fills[#fills + 1], fills[#fills + 2] = string.format('%d', state.full), name
        soonest = math.min(soonest, state.full)
      else
        filled = filled or {}
        filled[#filled + 1] = name
      end
    end
    if is_gone then
      states[name] = nil
    end
  end
  if gone[1] then
    call('HDEL', GROUPS, unpack(gone))
    call('ZREM', TURNS, unpack(gone))
  end
  if unturned and unturned[1] then
    call('ZREM', TURNS, unpack(unturned))
  end
  if scores[1] then
    call('ZADD', TURNS, unpack(scores))
  end
  if fields[1] then
    call('HSET', GROUPS, '', string.format('%.17g', virtual), unpack(fields))
  end
  if ends then
    call('ZADD', RULES, unpack(ends))
  end
  if endless then
    call('ZREM', RULES, unpack(endless))
  end
  if fills then
    call('ZADD', rates.FILLS, unpack(fills))
  end
  if filled then
    call('ZREM', rates.FILLS, unpack(filled))
  end
  if soonest < next_due then
    next_due = soonest
    call('HSET', META, 'next_due', string.format('%d', next_due))
  end
  return came
end

-- The name of the group of a valid frame.
local function group_of(frame)
  local at = HEAD + 1
  if byte(frame, 1) == WITH_PAST then
    at = at + 13 + decode('>I2', frame, at + 11)
  end
  return sub(frame, HEAD, HEAD) .. sub(frame, at, at + byte(frame, HEAD))
end

local park = nil
if string.find(config, ' on_death=park', 1, true) then
  -- Parks the group of a message that dies (G2).
  park = function(frame)
    local name = group_of(frame)
    local state = state_of(name)
    state.rule_ends, state.at_once, state.paused_until = state.rule_ends or 0, state.at_once or 0, PARKED
    regroup({ name })
  end
end

-- The length of a member of LINE without a place of its own.
local function plain_place(member)
  return byte(member, 1) + 10
end

-- Regroups after these members have left LINE.
local function regroup_members(members)
  local names, seen = {}, {}
  for k = 1, #members do
    local name = sub(members[k], 1, byte(members[k], 1) + 2)
    if not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  regroup(names, left_behind.is_ready)
end

-- Lets the picked messages hold places and take tokens, in the turns of their groups. The caller then removes them from
-- LINE.
local function hold(picked)
  left_behind = picked.behind or {}
  for _, id in ipairs(picked.ids) do
    local state = state_of(picked.names[id])
    virtual = math.max(virtual, state.turn)
    state.turn, state.held, state.last = virtual + 1 / state.weight, state.held + 1, id
    if rates then
      rates.spend(state)
    end
  end
end

-- Lets a message keep its place when its lease ends, because it waits for a retry (G2). Returns true if it may end
-- before.
local function keep_place(id)
  stays[id] = not loose
  return has_ttl and not loose and call('HEXISTS', FRAMES, 'e' .. id) == 1
end

-- Ends the places that these messages hold. Returns how many of their groups may run, now or with a next token.
local function end_places(ids)
  local fields, ended, of_ended, names, ready = {}, {}, {}, {}, {}
  for k = 1, #ids do
    fields[k] = 'g' .. ids[k]
  end
  for k, name in ipairs(call('HMGET', FRAMES, unpack(fields))) do
    if stays[ids[k]] then
      stays[ids[k]] = nil
    elseif name then
      ended[#ended + 1], of_ended[#of_ended + 1] = fields[k], name
    end
  end
  if not ended[1] then
    return 0
  end
  call('HDEL', FRAMES, unpack(ended))
  read_states(of_ended)
  for _, name in ipairs(of_ended) do
    local state = states[name]
    state.held = math.max(state.held - 1, 0)
    if not state.ends then
      state.ends, names[#names + 1] = true, name
      -- A group that may run has ready messages, and so has one that waits for a token.
      ready[name] = state.has_ready
    end
  end
  for _, name in ipairs(names) do
    states[name].ends = nil
  end
  return regroup(names, ready)
end

-- The number of groups.
local function count_groups()
  return call('ZCARD', TURNS)
end

-- The first time at which a rule, a pause or a wait for a token ends, or in strict order a message, perhaps one that
-- holds a place. With `with_fills`, also the first time at which a bucket is full.
local function frees_at(with_fills)
  local first = tonumber(call('ZRANGE', RULES, 0, 0, 'WITHSCORES')[2])
  local ends = has_ttl and not loose and tonumber(call('ZRANGE', ENDS, 0, 0, 'WITHSCORES')[2])
  first = first and ends and math.min(first, ends) or first or ends
  local full = with_fills and rates and tonumber(call('ZRANGE', rates.FILLS, 0, 0, 'WITHSCORES')[2])
  return first and full and math.min(first, full) or first or full
end

--- @part "rates"
-- The rates of groups, and the buckets that are not full (Q3). Of a group with a rate, a state has `most` and `per`,
-- and the number of its `tokens`. Of its bucket, unless that is full: what is `used` at the time `at`, the time from
-- which it is `full`, and without a token the time at which the next `token_comes`.
-- needs: BUCKET, config, first_end
-- gives: fit_bucket, read_rate, take_token
local group_most, group_per -- the rate of the configuration

-- Reads the rate of the configuration.
local function read_rate()
  local most, per = string.match(config, ' group_rate=(%d+)/(%d+)')
  group_most, group_per = tonumber(most), tonumber(per)
end
read_rate()

-- Counts the tokens of a group, after a change of its bucket.
local function count_tokens(state)
  local most, per, at = state.most, state.per, state.at
  local used = state.used and math.max(state.used - math.max(now - at, 0) * most, 0) or 0
  state.tokens, state.token_comes, state.full = most, nil, nil
  if used > 0 then
    state.tokens = math.floor((most * per - used) / per)
    state.full = at + math.ceil(state.used / most)
    state.token_comes = state.tokens < 1 and at + math.ceil((state.used + per - most * per) / most) or nil
  else
    state.used = nil
  end
  return used
end

-- Reads the bucket of a group, if it is stored, and lets it count by the group's rate: that of its rule, or else that
-- of the configuration. With another rate, the bucket is as full as before.
local function fit_bucket(state, has_bucket, waits)
  if has_bucket then
    state.used, state.at, state.most, state.per = decode(BUCKET, state.stored, #state.stored - 21)
    state.most, state.per = math.max(state.most, 1), math.max(state.per, 1)
    state.used = math.min(state.used, state.most * state.per) -- a damaged number counts as an empty bucket
    state.full_stored = state.at + math.ceil(state.used / state.most)
    local token_comes = state.at + math.ceil((state.used + state.per - state.most * state.per) / state.most)
    state.end_stored = waits and first_end(state, token_comes) or state.end_stored
  end
  local most, per = state.own_most or group_most, state.own_per or group_per
  local whole = state.used and state.most * state.per
  if not most then
    state.used, state.full, state.tokens = nil, nil, nil
  elseif state.used and not (most == state.most and per == state.per) then
    state.used, state.at = math.ceil(count_tokens(state) / whole * (most * per)), now
  end
  state.most, state.per = most, per
  if most then
    count_tokens(state)
  end
end

-- Takes a token of a group, if it has a rate.
local function take_token(state)
  if state.most then
    state.used, state.at = count_tokens(state) + state.per, now
    count_tokens(state)
  end
end

--- @part "change_rates"
-- needs: GROUPS, META, rates, regroup, states
-- gives: change_rates

-- Lets the buckets of groups count by the configuration, whose rate has changed if `is_new`. One step takes some 1,000
-- groups. Groups without a bucket need no change. META has the cursor in GROUPS for the next step, in `rates_at`.
-- Returns whether there is a next step.
local function change_rates(is_new)
  local cursor = rates and (is_new and '0' or call('HGET', META, 'rates_at'))
  if not cursor then
    return false
  end
  rates.reread()
  for _, state in pairs(states) do
    rates.fit(state)
  end
  local found, names, seen = call('HSCAN', GROUPS, cursor, 'COUNT', 1000), {}, {}
  for k = 1, #found[2], 2 do
    local name, behind = found[2][k], #found[2][k + 1] - 20
    if (behind == 22 or behind == 42 or behind == 50) and not seen[name] then
      seen[name], names[#names + 1] = true, name
    end
  end
  for first = 1, #names, MANY do
    regroup({ unpack(names, first, math.min(first + MANY - 1, #names)) })
  end
  if found[1] == '0' then
    call('HDEL', META, 'rates_at')
  else
    call('HSET', META, 'rates_at', found[1])
  end
  return found[1] ~= '0'
end

--- @part "rules"
-- Rules and pauses of groups, and their waits for tokens, which end by themselves.
-- needs: ARRIVALS, BEHIND, LINE, RULES, free_places, rates, read_states, regroup, state_of, wake_up
-- gives: end_rules, store_rules
--- @include "lib/wake_up"
--- @include "grouped/queue#groups"

-- Stores the states of groups, whose messages may be leased now if their rules, pauses and tokens allow it (G6). If
-- they may later, by their next tokens, a process must learn of that time.
local function store_rules(names)
  if regroup(names) == 0 then
    return
  end
  local arrived = 0
  for _, name in ipairs(names) do
    local state = state_of(name)
    local places = state.score and free_places(state) or 0
    local ready = places > 1 and call('ZLEXCOUNT', LINE, '[' .. name, '(' .. name .. '\2') or 1
    arrived = arrived + (places > 0 and state.score ~= BEHIND and math.min(ready, places) or 0)
  end
  wake_up(ARRIVALS, math.max(arrived, 1))
end

-- Ends rules, pauses and waits for tokens, up to 128 groups' by (end, key). Forgets up to 128 full buckets.
local function end_rules()
  local full = rates and call('ZRANGEBYSCORE', rates.FILLS, '-inf', now_text, 'LIMIT', 0, MANY) or {}
  if full[1] then
    regroup(full)
  end
  local ended = call('ZRANGEBYSCORE', RULES, '-inf', now_text, 'LIMIT', 0, MANY)
  if not ended[1] then
    return
  end
  read_states(ended)
  for _, name in ipairs(ended) do
    local state = state_of(name)
    if (state.rule_ends or 0) <= now then
      state.weight, state.at_once, state.rule_ends, state.own_most, state.own_per = 1, 0, 0, nil, nil
      if rates then
        rates.fit(state)
      end
    end
    if (state.paused_until or 0) <= now then
      state.paused_until = 0
    end
  end
  store_rules(ended)
end

--- @part "line"
-- The line of a grouped queue.
-- needs: BEHIND, DELAYED, FRAMES, LINE, RULES, TURNS, end_attachments, free_places, group_of, is_valid, left_behind
-- needs: rates, read_frames, read_states, state_of
-- gives: any_left, free, pick, plain_members
--- @include "lib/attachments"
--- @include "lib/sorted_line#frames"
local free = end_attachments

-- The members that a message without a place of its own may have in LINE.
local function plain_members(id)
  local frame = call('HGET', FRAMES, id)
  local name = frame and is_valid(frame, id) and group_of(frame)
  return name and { name .. '\1' .. id, name .. '\0' .. id } or {}
end

-- Whether the name of another group comes before `other` by its bytes: `<` compares texts by the server's locale.
local function is_before(name, other)
  local at = 1
  while byte(name, at) == byte(other, at) do
    at = at + 1
  end
  return (byte(name, at) or 0) < (byte(other, at) or 0)
end

-- The members of the next up to `max` messages that may be leased, in the turns of their groups; the names of their
-- groups, by id; and what is known of the messages behind them:
-- - is_ready  by name, whether the group has more ready messages; nil if this is not known
-- - may_run   whether any group may run then; nil if this is not known
local function take_turns(max)
  local waiting = call('ZRANGEBYSCORE', TURNS, '-inf', '(' .. BEHIND, 'WITHSCORES', 'LIMIT', 0, max + 1)
  local next_ones, members, names = {}, {}, {} -- the groups by turn, then by name
  local is_ready, may_run = {}, nil
  local turns = {}
  for k = 1, #waiting, 2 do
    turns[#turns + 1], turns[waiting[k]] = waiting[k], tonumber(waiting[k + 1])
  end
  read_states(turns)
  for k, name in ipairs(turns) do
    local state = state_of(name)
    next_ones[k] = { name = name, turn = turns[name], places = free_places(state), from = 0, step = 1 / state.weight }
  end
  local first = 1
  while #members < max and next_ones[first] do
    local group = next_ones[first]
    first = first + 1
    if not group.members then
      -- Its share of what is left, and one more, to know whether it has one.
      local share = 1 + math.min(math.ceil((max - #members) / (#next_ones - first + 2)), group.places)
      local name = group.name
      group.members = call('ZRANGEBYLEX', LINE, '[' .. name, '(' .. name .. '\2', 'LIMIT', group.from, share)
      group.from, group.at, group.is_cut = group.from + #group.members, 1, #group.members == share
    end
    local member = group.members[group.at]
    if member then
      members[#members + 1] = member
      names[sub(member, -7)] = group.name
      group.at, group.turn, group.places = group.at + 1, group.turn + group.step, group.places - 1
    end
    is_ready[group.name] = group.members[group.at] ~= nil
    if not group.members[group.at] and group.is_cut then
      is_ready[group.name] = nil
      group.members = nil
    end
    if group.places > 0 and is_ready[group.name] ~= false then
      local at = first
      while next_ones[at] and (next_ones[at].turn < group.turn
        or next_ones[at].turn == group.turn and is_before(next_ones[at].name, group.name)) do
        next_ones[at - 1] = next_ones[at]
        at = at + 1
      end
      first = first - 1
      next_ones[at - 1] = group
    end
  end
  if not next_ones[first] then
    may_run = false
  elseif next_ones[first].members or next_ones[first].from == 0 then
    may_run = true
  end
  return members, names, { is_ready = is_ready, may_run = may_run }
end

-- The next up to `max` messages that may be leased, as many as fit into one reply; moves nothing. With `any`, the
-- first ready messages as they are shown, whether their groups may run or not.
local function pick(max, any)
  if any then
    return read_frames(call('ZRANGE', LINE, 0, max - 1))
  end
  local members, names, found = take_turns(max)
  local picked = read_frames(members)
  for k = #picked.members + 1, #members do
    found.is_ready[names[sub(members[k], -7)]], found.may_run = true, true
  end
  picked.names, picked.behind = names, found
  for k, id in ipairs(picked.ids) do
    picked.fresh[2 * k - 1], picked.fresh[2 * k] = 'g' .. id, names[id]
  end
  return picked
end

-- Whether messages may be leased, or will be ready, perhaps by a token.
local function any_left()
  local may_run = left_behind.may_run
  if may_run == nil then
    may_run = call('ZRANGEBYSCORE', TURNS, '-inf', '(' .. BEHIND, 'LIMIT', 0, 1)[1] ~= nil
  end
  return may_run or call('EXISTS', DELAYED) > 0 or rates and call('EXISTS', RULES) > 0
end

--- @part "moves"
-- Moves messages into the line of a grouped queue.
-- needs: ARRIVALS, DELAYED, FRAMES, LINE, accepted, add_dead_letter, add_to, end_places, end_rules, free, group_of
-- needs: is_valid, regroup, wake_up
-- gives: give_back, join_tail, promote_due
--- @include "grouped/queue#rules"
--- @include "lib/wake_up"
--- @include "lib/writes#add_to"

-- Adds the score and the member of a returned message to `back`: before the others of its group (L11).
local function give_back(back, id, frame)
  back[#back + 1] = 0
  back[#back + 1] = group_of(frame) .. '\0' .. id
end

-- Puts messages at the tails of their groups, in this order.
local function join_tail(ids, frames)
  local number = add_to('joins', #ids) - #ids
  local last = pack('>I7', accepted)
  local places, fields, names, ready = {}, {}, {}, {}
  for k = 1, #ids do
    local name = group_of(frames[k])
    local before = name .. '\1' .. last .. pack('>I7', number + k)
    places[2 * k - 1], places[2 * k] = 0, before .. ids[k]
    fields[2 * k - 1], fields[2 * k] = 'p' .. ids[k], before
    if not ready[name] then
      ready[name], names[#names + 1] = true, name
    end
  end
  call('HSET', FRAMES, unpack(fields))
  call('ZADD', LINE, unpack(places))
  regroup(names, ready)
  wake_up(ARRIVALS, #ids)
end

-- Moves due messages to the tails of their groups; or to the heads, if they hold places (G2). Then ends rules.
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
  end_rules()
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
