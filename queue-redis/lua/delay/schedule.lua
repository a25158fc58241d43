-- schedule: stores messages, each with its due time.
-- KEYS[…] the queue's keys, see `delay/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of messages
-- ARGV[4] due times: 8 bytes for each message, 0 and ms from now, or 1 and ms since 1970
-- ARGV[5 …] payloads; then options, see `lib/push_options`
-- Returns the last id if all messages were accepted, with consecutive ids. Otherwise an array with the id of each;
-- for a duplicate, minus the id of the first message.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: ARRIVALS, DEDUP, FRAME, FRAMES, LINE, META, accepted, add_many, duplicate_of, finish_options, mark, next_due
-- needs: read_options, reclaim, wake_up
-- gives: meta
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"
--- @include "lib/frames"
--- @include "lib/writes#add_many"

-- The fast path: nothing to reclaim, and no options. It writes frames as `lib/frames` describes them.
if now < next_due and not DEDUP and #ARGV == 4 + ARGV[3] then
  local count, frames, places, first_due, ready = tonumber(ARGV[3]), {}, {}, math.huge, 0
  local since, previous, due, due_text = pack('>I7', now), nil, nil, nil
  for k = 1, count do
    -- Messages of a batch are mostly due together.
    local asked = sub(ARGV[4], 8 * k - 7, 8 * k)
    if asked ~= previous then
      local absolute, time = decode('>BI7', asked)
      due = absolute == 1 and math.max(time, now) or now + time
      previous, due_text, first_due = asked, string.format('%d', due), math.min(first_due, due)
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
  -- Wakes up processes that sleep until a later due time, or without one (D5).
  if not head or first_due < head or ready > 0 then
    wake_up(ARRIVALS, math.max(1, ready))
  end
  return accepted + count
end

-- The slow path: options, or something to reclaim.
local function slow_path()
  --- @include "lib/push_options"

  local function schedule()
    local count, dues = tonumber(ARGV[3]), ARGV[4]
    read_options(5 + count)
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
      -- Wakes up processes that sleep until a later due time, or without one (D5).
      if not head or first_due < head or ready > 0 then
        wake_up(ARRIVALS, math.max(1, ready))
      end
    end
    finish_options()
    return duplicates and ids or accepted + new
  end

  if now < next_due then
    return schedule()
  end
  --- @include "lib/reclaim"

  reclaim()
  return schedule()
end

return slow_path()
