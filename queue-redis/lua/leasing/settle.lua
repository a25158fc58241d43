-- Settlements on the slow path.
-- needs: ARRIVALS, DELAYED, END_MARKERS, FRAMES, LEASES, LINE, PROMOTED, add_dead_letter, add_ends, add_to
-- needs: attempts_of, config, end_leases, forget, free, give_back, id_in, is_valid, keep_place, keep_result
-- needs: keep_state
-- needs: lower_next_due, reframe, split_batches, wake_up
-- gives: settle
--- @include "lib/reclaim"
--- @include "lib/results"
--- @include "lib/frames#state"

-- Moves a message among the delayed ones. Wakes up a process that sleeps until a later due time.
local function put_off(id, frame, due)
  call('HSET', FRAMES, id, frame)
  call('ZADD', DELAYED, due, id)
  local may_end = keep_place and keep_place(id)
  add_ends({ id })
  if PROMOTED then
    lower_next_due(due)
  end
  if may_end or call('ZRANGE', DELAYED, 0, 0)[1] == id then
    wake_up(ARRIVALS, 1)
  end
end

-- Ends a live lease by release, defer, retry or bury; the caller removes the lease. `state` is stored with the message,
-- unless it is nil. Returns a letter as `settle` does.
local function settle_one(settlement, id, state)
  local what = sub(settlement, 1, 1)
  local frame = call('HGET', FRAMES, id)
  if not frame then
    return 'l'
  end
  if not is_valid(frame, id) then
    add_dead_letter(id, frame, 'd', '')
    free({ id })
    return 'x'
  end
  frame = state and keep_state(id, frame, state) or frame
  local attempts = attempts_of(frame)
  if what == 'l' then -- release
    local back = {}
    give_back(back, id, frame, now)
    add_to('released', 1)
    call('ZADD', LINE, unpack(back))
    add_ends({ id })
    wake_up(ARRIVALS, 1)
    return 'd'
  elseif what == 'd' then -- defer
    local due = now + decode('>I7', settlement, 16)
    add_to('deferred', 1)
    put_off(id, reframe(frame, attempts, due), due)
    return 'd'
  elseif what == 'r' and attempts + 1 < tonumber(string.match(config, 'max_attempts=(%d+)')) then
    local due = now + decode('>I7', settlement, 16)
    add_to('retried', 1)
    put_off(id, reframe(frame, attempts + 1, due, due, sub(settlement, 23)), due)
    return 'd'
  elseif what == 'r' then -- retry, without attempts left
    add_dead_letter(id, reframe(frame, attempts + 1, nil, nil, sub(settlement, 23)), 'r', '')
  else -- bury
    add_dead_letter(id, reframe(frame, attempts + 1), 'b', sub(settlement, 16))
  end
  free({ id })
  return 'x'
end

-- Settles `count` leases from ARGV[from] on; leases may have expired. Returns one letter for each (d done, x dead, l
-- lease lost), the number of acked messages, and that of ended leases.
local function settle(from, count)
  local asked, members, own_states = {}, {}, {}
  for k = from, from + count - 1 do
    local what = byte(ARGV[k], 1)
    if what == 65 or what == 66 then -- A or B: of a batch lease
      local first_token, messages = decode('>I7B', ARGV[k], 9)
      local batch_ends = 16 + (what == 66 and 7 * messages or 0)
      local batch, indexes = sub(ARGV[k], 2, batch_ends), sub(ARGV[k], batch_ends + 1)
      for n = 1, indexes == '' and messages or #indexes do
        local index = indexes == '' and n - 1 or byte(indexes, n) - 128
        asked[#asked + 1] = 'a' .. id_in(batch, index + 1) .. pack('>I7', first_token + index)
      end
    elseif what == 115 then -- s: with a state
      local length, starts = decode('>I4', ARGV[k], 2)
      own_states[#asked + 1] = sub(ARGV[k], starts, starts + length - 1)
      asked[#asked + 1] = sub(ARGV[k], starts + length)
    else
      asked[#asked + 1] = ARGV[k]
    end
  end
  for k = 1, #asked do
    members[k] = sub(asked[k], 2, 15)
  end
  split_batches(members)
  local deadlines = call('ZMSCORE', LEASES, unpack(members))
  local answers, ended, done, seen, marker = {}, {}, {}, {}, END_MARKERS
  for k = 1, #members do
    local member, keeps = members[k], byte(asked[k], 1) == 107 -- k
    marker = keeps and marker + 1 or marker
    if not deadlines[k] or tonumber(deadlines[k]) <= now or seen[member] then
      answers[k] = 'l'
    else
      seen[member] = true
      ended[#ended + 1] = member
      local settlement, id = asked[k], sub(member, 1, 7)
      if keeps then
        keep_result(id, settlement, KEYS[marker])
      end
      if keeps or byte(settlement, 1) == 97 then -- a
        answers[k] = 'd'
        done[#done + 1] = id
      else
        answers[k] = settle_one(settlement, id, own_states[k])
      end
    end
  end
  if done[1] then
    free(done)
    forget(done)
  end
  if ended[1] then
    end_leases(ended)
  end
  return table.concat(answers), #done, #ended
end
