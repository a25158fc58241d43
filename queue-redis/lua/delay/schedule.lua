-- schedule: puts messages in, each with its due time.
-- ARGV[3] how many messages
-- ARGV[4] 8 bytes for each: 0 and ms from now, or 1 and ms since 1970
-- ARGV[5 …] their payloads
-- ARGV[5 + messages …] what else the push says of messages, see `terms`
-- Returns the last id if all were accepted, which then have consecutive ids; or an array with the
-- id of each, negative for the first message's id of a duplicate. OOM: nothing was written.
-- needs: ARRIVALS, DEDUP, FRAME, FRAMES, LINE, META, accepted, add_many, arm, duplicate_of, finish_terms, mark
-- needs: quiet_until, read_terms, tidy
-- gives: meta
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet')
--- @include "lib/config#state"
--- @include "lib/frames"
--- @include "lib/writes#add_many"
-- schedule, as it mostly is: there is nothing to tidy, and no message says more than its payload and its due
-- time. Each function that follows costs a push as much as a command; this is before them all. The new frames are
-- put together here, by what `frames` tells.
-- ARGV and what it returns: as for `schedule`
if now < quiet_until and not DEDUP and #ARGV == 4 + ARGV[3] then
  local count, frames, places, first_due, ready = tonumber(ARGV[3]), {}, {}, math.huge, 0
  local since, told, due, due_text = pack('>I7', now), nil, nil, nil
  for k = 1, count do
    -- Those of a batch are mostly due together.
    local asked = sub(ARGV[4], 8 * k - 7, 8 * k)
    if asked ~= told then
      local absolute, time = decode('>BI7', asked)
      due = absolute == 1 and math.max(time, now) or now + time
      told, due_text, first_due = asked, string.format('%d', due), math.min(first_due, due)
    end
    local id = pack('>I7', accepted + k)
    frames[2 * k - 1], frames[2 * k] = id, '\0' .. id .. since .. ARGV[4 + k]
    places[2 * k - 1], places[2 * k] = due_text, id
    ready = due <= now and ready + 1 or ready
  end
  local head = tonumber(call('ZRANGE', LINE, '0', '0', 'WITHSCORES')[2])
  call('HINCRBY', META, 'accepted', count)
  call('HSET', FRAMES, unpack(frames))
  add_many(LINE, places)
  -- Tells those who sleep towards a later due time, or towards none (D5).
  if not head or first_due < head or ready > 0 then
    arm(ARRIVALS, math.max(1, ready))
  end
  return accepted + count
end
local function slow_path()
  --- @include "lib/push_options"
  local function act()
    local count, dues = tonumber(ARGV[3]), ARGV[4]
    read_terms(5 + count)
    local frames, places, ids, new, duplicates, first_due, ready = {}, {}, {}, 0, false, math.huge, 0
    for k = 1, count do
      local first = duplicate_of(k)
      if first then
        ids[k], duplicates = -first, true
      else
        local absolute, due = decode('>BI7', dues, 8 * k - 7)
        due = absolute == 1 and math.max(due, now) or now + due
        new = new + 1
        local id = pack('>I7', accepted + new)
        ids[k] = accepted + new
        frames[2 * new - 1] = id
        frames[2 * new] = pack(FRAME, 0, accepted + new, now) .. ARGV[4 + k]
        places[2 * new - 1] = due
        places[2 * new] = id
        first_due = math.min(first_due, due)
        ready = due <= now and ready + 1 or ready
        mark(k, accepted + new)
      end
    end
    if new > 0 then
      local head = tonumber(call('ZRANGE', LINE, 0, 0, 'WITHSCORES')[2])
      call('HINCRBY', META, 'accepted', new)
      call('HSET', FRAMES, unpack(frames))
      add_many(LINE, places)
      -- Tells those who sleep towards a later due time, or towards none (D5).
      if not head or first_due < head or ready > 0 then
        arm(ARRIVALS, math.max(1, ready))
      end
    end
    finish_terms()
    return duplicates and ids or accepted + new
  end

  if now < quiet_until then
    return act()
  end
  --- @include "lib/reclaim"
  tidy()
  return act()
end
return slow_path()
