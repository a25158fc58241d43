-- push: stores messages, each with its due time.
-- KEYS[…] the queue's keys, see `delay/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of messages
-- ARGV[4] due times: 8 bytes for each message, 0 and ms from now, or 1 and ms since 1970
-- ARGV[5 …] payloads; then options, see `lib/push_options`
-- Returns what `lib/slow_push` says.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: ARRIVALS, DEDUP, FRAMES, LINE, META, accepted, add_many, next_due, wake_up
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

--- @include "lib/slow_push"

--- @part "store"
-- The arguments of a push on a delay queue, and its messages in their places.
-- needs: FRAME, FRAMES, LINE, add_many
-- gives: biased_of, drops_oldest, due_times, leave_room, message_count, next_victim, options_at, payloads, read_room
-- gives: store
local message_count, payloads, due_times = tonumber(ARGV[3]), { unpack(ARGV, 5) }, {}
local options_at, biased_of = 5 + message_count, nil
for k = 1, message_count do
  local absolute, due = decode('>BI7', ARGV[4], 8 * k - 7)
  due_times[k] = absolute == 1 and due or now + due
end
-- Only a bounded queue may be full.
local drops_oldest, leave_room, next_victim, read_room = nil, nil, nil, nil
local head_due -- the first due time

-- Stores messages by their due times. Returns how many processes to wake up.
local function store(messages)
  local frames, places, first_due, ready = {}, {}, math.huge, 0
  for k, message in ipairs(messages) do
    local id, due = pack('>I7', message.id), message.due or now
    frames[2 * k - 1], frames[2 * k] = id, pack(FRAME, 0, message.id, now) .. message.payload
    places[2 * k - 1], places[2 * k] = due, id
    first_due = math.min(first_due, due)
    ready = due <= now and ready + 1 or ready
  end
  head_due = head_due or tonumber(call('ZRANGE', LINE, 0, 0, 'WITHSCORES')[2]) or math.huge
  call('HSET', FRAMES, unpack(frames))
  add_many(LINE, places)
  local is_first = first_due < head_due
  head_due = math.min(first_due, head_due)
  -- Processes may sleep until a later due time, or without one (D5).
  return (is_first or ready > 0) and math.max(1, ready) or 0
end
