-- needs: ARRIVALS, DELAYED, FRAMES, LEASES, LINE, PROMOTED, add_to, arm, attempts_of, config, die, end_leases, expect
-- needs: forget, give_back, gone, id_in, is_sound, reframe, separate, wait_on
-- gives: settle
--- @include "lib/reclaim"
-- Settling in another way than by ack.

-- Leaves it out of the line until it is due. An earlier first due time is told to those who sleep
-- towards a later one.
local function put_off(id, frame, due)
  call('HSET', FRAMES, id, frame)
  call('ZADD', DELAYED, due, id)
  wait_on({ id })
  if PROMOTED then
    expect(due)
  end
  if call('ZRANGE', DELAYED, 0, 0)[1] == id then
    arm(ARRIVALS, 1)
  end
end

-- Ends one live lease in another way than by ack; the caller removes the lease.
local function settle_one(settlement, id)
  local what = sub(settlement, 1, 1)
  local frame = call('HGET', FRAMES, id)
  if not frame then
    return 'l'
  end
  if not is_sound(frame, id) then
    die(id, frame, 'd', '')
    gone({ id })
    return 'x'
  end
  local attempts = attempts_of(frame)
  if what == 'l' then
    local back = {}
    give_back(back, id, frame, now)
    add_to('released', 1)
    call('ZADD', LINE, unpack(back))
    wait_on({ id })
    arm(ARRIVALS, 1)
    return 'd'
  elseif what == 'd' then
    local due = now + decode('>I7', settlement, 16)
    add_to('deferred', 1)
    put_off(id, reframe(frame, attempts, due), due)
    return 'd'
  elseif what == 'r' and attempts + 1 < tonumber(string.match(config, 'max_attempts=(%d+)')) then
    local due = now + decode('>I7', settlement, 16)
    add_to('retried', 1)
    put_off(id, reframe(frame, attempts + 1, due, due, sub(settlement, 23)), due)
    return 'd'
  elseif what == 'r' then
    die(id, reframe(frame, attempts + 1, nil, nil, sub(settlement, 23)), 'r', '')
  else
    die(id, reframe(frame, attempts + 1), 'b', sub(settlement, 16))
  end
  gone({ id })
  return 'x'
end

-- Settles in any way, where leases may be expired. Answers one letter each (d done, x dead, l lease
-- lost), and how many were acked.
local function settle(from, count)
  local asked, members = {}, {}
  for k = from, from + count - 1 do
    local what = byte(ARGV[k], 1)
    if what == 65 or what == 66 then
      local first_token, messages = decode('>I7B', ARGV[k], 9)
      local run_ends = 16 + (what == 66 and 7 * messages or 0)
      local run, places = sub(ARGV[k], 2, run_ends), sub(ARGV[k], run_ends + 1)
      for n = 1, places == '' and messages or #places do
        local place = places == '' and n - 1 or byte(places, n) - 128
        asked[#asked + 1] = 'a' .. id_in(run, place + 1) .. pack('>I7', first_token + place)
      end
    else
      asked[#asked + 1] = ARGV[k]
    end
  end
  for k = 1, #asked do
    members[k] = sub(asked[k], 2, 15)
  end
  separate(members)
  local deadlines = call('ZMSCORE', LEASES, unpack(members))
  local answers, over, done, seen = {}, {}, {}, {}
  for k = 1, #members do
    local member = members[k]
    if not deadlines[k] or tonumber(deadlines[k]) <= now or seen[member] then
      answers[k] = 'l'
    else
      seen[member] = true
      over[#over + 1] = member
      local settlement, id = asked[k], sub(member, 1, 7)
      if byte(settlement, 1) == 97 then
        answers[k] = 'd'
        done[#done + 1] = id
      else
        answers[k] = settle_one(settlement, id)
      end
    end
  end
  if done[1] then
    gone(done)
    forget(done)
  end
  if over[1] then
    end_leases(over)
  end
  return table.concat(answers), #done
end
