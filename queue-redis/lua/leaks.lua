-- leaks: lists data that no message, dead letter, item or once key of its queue explains, and places without a
-- message. It reads all keys at one instant; src/keys.rs describes them.
-- ARGV[1] prefix: of the keys
-- Returns a line for each leak.
-- needs: HEAD, ID, PACK, SINCE, WITH_PAST
-- gives: EXTRA_HEAD
local EXTRA_HEAD = 0
--- @include "lib/frames"
local lines = {}
local queues = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. ':{*}:*')) do
  local queue, suffix = string.match(key, '^(.*}):(.*)$')
  queues[queue] = queues[queue] or {}
  queues[queue][suffix] = key
end

local function name(member)
  if #member == 7 then
    return string.format('%d', (struct.unpack('>I7', member)))
  end
  local readable = string.gsub(member, '[^%w%p ]', function(other)
    return string.format('\\x%02x', string.byte(other))
  end)
  return '"' .. readable .. '"'
end

local function look(queue, keys)
  local function say(suffix, what, member)
    lines[#lines + 1] = queue .. ':' .. suffix .. ' ' .. what .. ' ' .. name(member)
  end
  -- The leases of a batch lease's messages, as if each had its own.
  local function leases_of(batch)
    local first, token, count = struct.unpack('>I7I7B', batch)
    local own, least = { places = {} }, math.huge
    local acked = redis.call('HGET', keys.frames, 'a' .. batch) or ''
    for k = 1, count do
      local id = #batch > 15 and struct.unpack('>I7', batch, 7 * k + 9) or first + k - 1
      least = math.min(least, id)
      if not string.find(acked, string.char(127 + k), 1, true) then
        own[#own + 1] = struct.pack('>I7I7', id, token + k - 1)
        own.places[#own] = k
      end
    end
    if least ~= first then
      say('runs', 'does not begin with the least id of the batch lease:', batch)
    end
    if #own ~= count - #acked or not own[1] then
      say('frames', 'has acks of other messages, or too many, in the batch lease:', batch)
    end
    return own
  end
  -- The frames in elements of a list. Returns them, and their number minus the number of elements.
  local function unpacked(elements)
    local frames, more = {}, 0
    local rest
    for place, element in ipairs(elements) do
      if element == rest then
        rest, more = nil, more - 1
      elseif #element > HEAD and string.byte(element, 1) == PACK then
        if #element == HEAD + 1 then
          rest = elements[place + 1] or ''
          element = element .. string.sub(rest, 3)
        end
        local count = string.byte(element, HEAD + 1)
        local id, since = struct.unpack('>I7I7', element, ID)
        local at, before = HEAD + 2, #frames
        more = more - 1
        for k = 1, count do
          local length = struct.unpack('>I2', element, at)
          if length > 0 then
            local payload = string.sub(element, at + 2, at + 1 + length)
            frames[#frames + 1], more = struct.pack('>BI7I7', 0, id + k - 1, since) .. payload, more + 1
          end
          at = at + 2 + length
        end
        if #frames == before then
          say('ready', 'has a pack without messages:', struct.pack('>I7', id))
        end
      else
        frames[#frames + 1] = element
      end
    end
    return frames, more
  end
  local ready, packed = unpacked(keys.ready and redis.call('LRANGE', keys.ready, 0, -1) or {})
  local batches = {}
  for _, batch in ipairs(keys.runs and redis.call('ZRANGE', keys.runs, 0, -1) or {}) do
    batches[batch] = leases_of(batch)
  end
  local function members(suffix)
    local found = {}
    for _, member in ipairs(keys[suffix] and redis.call('ZRANGE', keys[suffix], 0, -1) or {}) do
      for _, own in ipairs(suffix == 'leases' and batches[member] or { member }) do
        found[#found + 1] = own
      end
    end
    return found
  end
  local function fields(suffix)
    local found, listed = {}, keys[suffix] and redis.call('HGETALL', keys[suffix]) or {}
    for k = 1, #listed, 2 do
      local field, value = listed[k], listed[k + 1]
      local batch = suffix == 'frames' and (batches[field] or batches[string.sub(field, 2)])
      local letter = batch ~= batches[field] and string.sub(field, 1, 1)
      local frames = batch and not letter and unpacked(cmsgpack.unpack(value))
      for n, own in ipairs(letter ~= 'a' and batch or {}) do
        local id = string.sub(own, 1, 7)
        found[frames and id or letter .. id] = frames and frames[batch.places[n]] or value
      end
      if not batch then
        found[field] = value
      end
    end
    return found
  end
  if packed ~= (keys.meta and tonumber(redis.call('HGET', keys.meta, 'packed')) or 0) then
    say('ready', 'has a number of packed messages that differs from `packed`:', tostring(packed))
  end
  local left_out = 0
  for batch, own in pairs(batches) do
    left_out = left_out + #own - 1
    if not redis.call('ZSCORE', keys.leases, batch) then
      say('runs', 'has an entry without an owner:', batch)
    elseif tonumber(redis.call('ZSCORE', keys.runs, batch)) ~= struct.unpack('>I7', batch, 8) then
      say('runs', 'has a token that differs from its member:', batch)
    end
  end
  if left_out ~= (keys.meta and tonumber(redis.call('HGET', keys.meta, 'uncounted')) or 0) then
    say('leases', 'leaves out a number that differs from `uncounted`:', tostring(left_out))
  end

  -- Each message or item has one place.
  local places = {}
  local function note_place(suffix, id)
    if places[id] then
      say(suffix, 'has an entry that is also in ' .. places[id] .. ':', id)
    end
    places[id] = suffix
  end
  -- Each message has one entry, and there are no other entries.
  local function explain(suffix, others)
    local kept = fields(suffix)
    for id in pairs(kept) do
      if not places[id] and not (others and others[id]) then
        say(suffix, 'has an entry without an owner:', id)
      end
    end
    for id, place in pairs(places) do
      if not kept[id] then
        say(place, 'has a place without an entry:', id)
      end
    end
  end
  -- Two hashes, each of which reverses the other.
  local function agree(one, other, forth, back)
    for key, id in pairs(forth) do
      if back[id] ~= key then
        say(one, 'has a key of an owner that does not have it:', key)
      end
    end
    for id, key in pairs(back) do
      if forth[key] ~= id then
        say(other, 'has a key of another owner:', id)
      end
    end
    return back
  end

  -- Each result has the end of its time.
  local results = fields('results')
  for _, id in ipairs(members('result-ends')) do
    if not results[id] then
      say('result-ends', 'has an entry without a result:', id)
    end
    results[id] = nil
  end
  for id in pairs(results) do
    say('results', 'has an entry without an end:', id)
  end

  local config = keys.meta and redis.call('HGET', keys.meta, 'config') or ''
  local per_group, loose = string.match(config, ' per_group=(%d+) loose=(%d)')
  -- `frames` also has the beginnings of members of the line, and the holders of leases. Some messages have a dedup
  -- key, the end of a time to live, or the reference of a body there.
  local extras = {}
  for _, frame in ipairs(ready) do
    local id = string.sub(frame, ID, SINCE - 1)
    extras['u' .. id], extras['b' .. id] = #frame > HEAD, #frame > HEAD
  end
  for _, suffix in ipairs({ 'line', 'delayed', 'leases', 'dead' }) do
    for _, member in ipairs(members(suffix)) do
      -- A lease's token is behind its id; a place's number is before it.
      local id = suffix == 'leases' and string.sub(member, 1, 7) or string.sub(member, -7)
      note_place(suffix, id)
      extras['u' .. id] = suffix ~= 'dead'
      extras['e' .. id] = suffix ~= 'dead'
      extras['b' .. id] = true
      extras['g' .. id] = per_group and suffix == 'leases' or loose == '0' and suffix == 'delayed'
      if suffix == 'leases' then
        extras['h' .. id] = true
      elseif #member > (per_group and suffix == 'line' and string.byte(member, 1) + 10 or 7) then
        extras['p' .. id] = true
        if redis.call('HGET', keys.frames, 'p' .. id) ~= string.sub(member, 1, -8) then
          say('line', 'has a place that its id does not find:', id)
        end
      end
    end
  end
  -- Distinct keys and their holders: a bounded queue has hashes of their own for them.
  local holders, owned = fields('distinct'), fields('owned')
  for field, value in pairs(string.find(config, '^kind=bounded') and {} or fields('frames')) do
    local letter, rest = string.sub(field, 1, 1), string.sub(field, 2)
    if letter == 'k' then
      holders[rest], extras[field] = value, true
    elseif letter == 'd' and #field == 8 then
      owned[rest], extras[field] = value, true
    end
  end
  for key, stored in pairs(holders) do
    -- Behind the id may be the beginning of a chain.
    holders[key] = #stored == 14 and string.sub(stored, 1, 7) or stored
  end
  explain('frames', extras)
  -- A large body exists as long as its message, or waits for its push.
  local is_ring = string.find(config, '^kind=rotating') ~= nil
  local head = string.find(config, '^kind=priority') and 24 or per_group and 16 or 15
  local frames, bodies = fields('frames'), {}
  for _, reference in ipairs(keys.bodies and not is_ring and redis.call('HKEYS', keys.bodies) or {}) do
    bodies[reference] = 'has an entry without an owner:'
  end
  for _, reference in ipairs(members('uploads')) do
    bodies[reference] = nil
  end
  local function check_body(id, frame)
    local at = head + 1
    if string.byte(frame, 1) == WITH_PAST then
      at = at + 13 + struct.unpack('>I2', frame, at + 11)
    end
    if per_group then
      at = at + string.byte(frame, head) + 1
    end
    if string.byte(frame, at) == 3 then
      at = at + 5 + struct.unpack('>I4', frame, at + 1)
    end
    local reference = string.byte(frame, at) == 2 and string.sub(frame, at + 5)
    if (frames['b' .. id] or false) ~= reference then
      say('frames', 'has a reference that differs from the frame of', id)
    elseif reference and not bodies[reference] then
      say('bodies', 'lacks the body of', id)
    elseif reference then
      bodies[reference] = nil
    end
  end
  for id, place in pairs(places) do
    local frame = frames[id]
    if frame and place == 'dead' then
      local _, _, length = struct.unpack('>I7c1I2', frame)
      frame = string.sub(frame, 11 + length)
    end
    if frame then
      check_body(id, frame)
    end
  end
  for _, frame in ipairs(ready) do
    if #frame > HEAD then
      check_body(string.sub(frame, ID, SINCE - 1), frame)
    end
  end
  for reference, what in pairs(bodies) do
    say('bodies', what, reference)
  end
  -- The held places of a group are those of its messages. A group has ready messages, held places, a rule or a pause,
  -- and it is in `turns`: by its turn if it may run, else behind all. A bucket that is not full needs no group, and is
  -- in `fills`.
  local held, has_ready = {}, {}
  for field, group in pairs(per_group and frames or {}) do
    if #field == 8 and string.sub(field, 1, 1) == 'g' then
      held[group] = (held[group] or 0) + 1
    end
  end
  for _, member in ipairs(per_group and members('line') or {}) do
    has_ready[string.sub(member, 1, string.byte(member, 1) + 2)] = true
  end
  for id, place in pairs(per_group and places or {}) do
    if place == 'leases' and not frames['g' .. id] then
      say('leases', 'has a message without the name of its group:', id)
    end
  end
  local groups = fields('groups')
  groups[''] = nil -- the virtual time
  local rule_ends, has_rule = keys.rules and redis.call('ZRANGE', keys.rules, 0, -1, 'WITHSCORES') or {}, {}
  for k = 1, #rule_ends, 2 do
    has_rule[rule_ends[k]] = tonumber(rule_ends[k + 1])
  end
  local fills, filled = keys.fills and redis.call('ZRANGE', keys.fills, 0, -1, 'WITHSCORES') or {}, {}
  for k = 1, #fills, 2 do
    filled[fills[k]] = tonumber(fills[k + 1])
  end
  for group, state in pairs(groups) do
    local turn, places_held, _, may = struct.unpack('>dI4c7B', state)
    local own, most, ends, paused = held[group] or 0, 0, 0, 0
    local behind = #state - 20
    if behind == 20 or behind == 28 or behind == 42 or behind == 50 then
      most, ends, paused = struct.unpack('>I4I7I7', state, 23)
    end
    local fills_at, token_comes, bucket_only = nil, 0, false
    if behind == 22 or behind == 42 or behind == 50 then
      local used, at, tokens, per = struct.unpack('>I7I7I4I4', state, #state - 21)
      fills_at, bucket_only = at + math.ceil(used / tokens), turn == 0
      token_comes = may == 2 and at + math.ceil((used + per - tokens * per) / tokens) or 0
      if used == 0 or used > tokens * per or may == 2 and token_comes <= at then
        say('groups', 'has a bucket that is full, overdrawn, or not empty:', group)
      end
    elseif may == 2 then
      say('groups', 'lacks the bucket of a group that waits for a token:', group)
    end
    if filled[group] ~= fills_at then
      say('fills', 'has another time than the bucket of', group)
    end
    filled[group] = nil
    most = loose == '1' and most > 0 and most or tonumber(per_group)
    local paused_until = paused < 9007199254740991 and paused or 0 -- a parked group is paused without an end
    local first = ends > 0 and paused_until > 0 and math.min(ends, paused_until) or math.max(ends, paused_until)
    first = token_comes > 0 and (first == 0 or token_comes < first) and token_comes or first
    if (has_rule[group] or 0) ~= first then
      say('rules', 'has another end than the group has:', group)
    end
    has_rule[group] = nil
    if places_held ~= own then
      say('groups', 'counts other places than those held in', group)
    end
    if own == 0 and not has_ready[group] and first == 0 and paused == 0 and not bucket_only then
      say('groups', 'has an empty group:', group)
    end
    local may_run = own < most and paused == 0 and has_ready[group]
    if may == 2 and not may_run then
      say('groups', 'lets a group wait for a token that does not need one:', group)
    end
    local waits_for = bucket_only and -1 or may_run and may ~= 2 and turn or math.huge
    if tonumber(keys.turns and redis.call('ZSCORE', keys.turns, group) or -1) ~= waits_for then
      say('turns', 'has another turn than the group has:', group)
    end
    held[group], has_ready[group] = nil, nil
  end
  for group in pairs(held) do
    say('groups', 'lacks the group of a held place:', group)
  end
  for group in pairs(filled) do
    say('fills', 'has the time of a bucket that does not exist:', group)
  end
  for group in pairs(has_rule) do
    say('rules', 'has the end of a rule of no group:', group)
  end
  for group in pairs(has_ready) do
    say('groups', 'lacks the group of a ready message:', group)
  end
  for _, group in ipairs(members('turns')) do
    if not groups[group] then
      say('turns', 'has a turn of no group:', group)
    end
  end
  -- While a message with a time to live is not leased, it is in `ends`, by its end.
  local ends, waits = keys.ends and redis.call('ZRANGE', keys.ends, 0, -1, 'WITHSCORES') or {}, {}
  for k = 1, #ends, 2 do
    waits[ends[k]] = tonumber(ends[k + 1])
  end
  for id, place in pairs(places) do
    local kept = (place == 'line' or place == 'delayed') and redis.call('HGET', keys.frames, 'e' .. id)
    if waits[id] ~= (kept and struct.unpack('>I7', kept) or nil) then
      say('ends', 'has an end that differs from the stored one of', id)
    end
    waits[id] = nil
  end
  for id in pairs(waits) do
    say('ends', 'has an entry without an owner:', id)
  end
  -- No call searches for due work before `next_due`.
  local next_due = keys.meta and tonumber(redis.call('HGET', keys.meta, 'next_due')) or 0
  for _, suffix in ipairs({ 'leases', 'delayed', 'ends', 'rules', 'fills' }) do
    local first = keys[suffix] and redis.call('ZRANGE', keys[suffix], 0, 0, 'WITHSCORES') or {}
    if first[1] and next_due > tonumber(first[2]) then
      say(suffix, 'is searched too late for', first[1])
    end
  end
  local holes = 0
  for k, frame in ipairs(ready) do
    if #frame > HEAD then
      note_place('ready', string.sub(frame, ID, SINCE - 1))
    else
      holes = holes + 1
      if k == 1 then
        say('ready', 'begins with a hole:', string.sub(frame, ID, SINCE - 1))
      end
    end
  end
  if keys.ready and holes ~= (tonumber(redis.call('HGET', keys.meta, 'holes')) or 0) then
    say('ready', 'has a number of holes that differs from `holes`:', tostring(holes))
  end
  for id in pairs(agree('distinct', 'owned', holders, owned)) do
    if not places[id] or places[id] == 'dead' then
      say('owned', 'has the key of an owner that does not exist:', id)
    end
  end

  places = {}
  for _, suffix in ipairs({ 'ring', 'fresh' }) do
    for _, id in ipairs(members(suffix)) do
      note_place(suffix, id)
    end
  end
  for _, id in ipairs(members('due')) do
    if places[id] ~= 'ring' then
      say('due', 'has an entry without an owner:', id)
    end
  end
  if is_ring then
    -- A large body exists as long as its item, or waits for its insert.
    local kept, uploads, others = fields('bodies'), {}, {}
    for _, reference in ipairs(members('uploads')) do
      uploads[reference], others[reference] = true, true
    end
    for id in pairs(places) do
      local reference = kept[id] and string.byte(kept[id], 1) == 2 and string.sub(kept[id], 6)
      if reference and (uploads[reference] or not kept[reference]) then
        say('bodies', 'lacks the body of', id)
      end
      others[reference or id] = true
    end
    explain('bodies', others)
  end
  for id in pairs(agree('keyed', 'named', fields('keyed'), fields('named'))) do
    if not places[id] then
      say('named', 'has the key of an owner that does not exist:', id)
    end
  end

  places = {}
  for _, key in ipairs(members('dedup')) do
    note_place('dedup', key)
  end
  explain('firsts')

  places = {}
  for _, suffix in ipairs({ 'once-claimed', 'once-done' }) do
    for _, key in ipairs(members(suffix)) do
      note_place(suffix, key)
    end
  end
  explain('once-tokens')
end

local known = {}
for suffix in string.gmatch(
  'meta leases runs frames dead arrivals line delayed ready room distinct owned dedup firsts ends uploads ring fresh'
    .. ' due bodies keyed named groups turns rules fills results result-ends once once-claimed once-done once-tokens',
  '%S+'
) do
  known[suffix] = true
end
for queue, keys in pairs(queues) do
  for suffix, key in pairs(keys) do
    -- An end marker expires, also if its queue is removed.
    local is_end = string.find(suffix, '^end%-%x+$') and redis.call('PTTL', key) > 0
    if is_end then
      keys[suffix] = nil
    elseif not known[suffix] then
      lines[#lines + 1] = key .. ' is an unknown key'
    elseif not keys.meta and string.sub(suffix, 1, 4) ~= 'once' then
      lines[#lines + 1] = key .. ' is a key of a queue that does not exist'
    end
  end
  look(queue, keys)
end
table.sort(lines)
return lines
