-- What every verb does first (L7), once the time has come (see `quiet`): takes back up to 128 expired leases
-- by (deadline, id), then promotes up to 128 delayed messages by (due, id), then ends up to 128 outdated ones
-- by (end, id).
-- needs: ARRIVALS, ENDS, FRAMES, LEASES, LINE, META, PROMOTED, RUNS, acked_of, add_to, arm, attempts_of, break_up
-- needs: config, die, end_leases, give_back, gone, is_sound, limited, outdate, promote, quiet_until, reframe, sweep
-- needs: wait_on
-- gives: tidy
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
