-- push: stores messages, each with its priority.
-- KEYS[…] the queue's keys, see `priority/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of messages
-- ARGV[4] priorities: priority + 32768 of each message, 2 bytes
-- ARGV[5 …] payloads; then options, see `lib/push_options`
-- Returns what `lib/slow_push` says.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: ARRIVALS, DEDUP, FRAMES, LINE, META, accepted, add_many, ageing, hand_over, next_due, wake_up
-- gives: meta
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"
--- @include "lib/frames"
--- @include "lib/writes#add_many"
--- @include "lib/wake_up#hand_over"
--- @include "priority/queue#settings"

-- The fast path: nothing to reclaim, and no options. It writes frames as `lib/frames` describes them.
if now < next_due and not DEDUP and #ARGV == 4 + ARGV[3] then
  local count, frames, places = tonumber(ARGV[3]), {}, {}
  local since, previous, place = pack('>I7', now), nil, nil
  for k = 1, count do
    local id, biased = pack('>I7', accepted + k), sub(ARGV[4], 2 * k - 1, 2 * k)
    if biased ~= previous then
      local priority = decode('>I2', biased) - 32768
      previous, place = biased, string.format('%d', ageing and now - priority * ageing or -2 * priority)
    end
    frames[2 * k - 1], frames[2 * k] = id, '\0' .. id .. since .. biased .. since .. ARGV[4 + k]
    places[2 * k - 1], places[2 * k] = place, id
  end
  local handed_over = count == 1 and hand_over(accepted + 1, frames[2], LINE)
  call('HINCRBY', META, 'accepted', count)
  if not handed_over then
    call('HSET', FRAMES, unpack(frames))
    add_many(LINE, places)
  end
  if count > 1 then
    wake_up(ARRIVALS, count)
  end
  return accepted + count
end

--- @include "lib/slow_push"

--- @part "store"
-- The arguments of a push on a priority queue, and its messages in their places.
-- needs: FRAME, FRAMES, LINE, add_many, ageing, hand_over
-- gives: biased_of, drops_oldest, due_times, leave_room, message_count, next_victim, options_at, payloads, read_room
-- gives: store
local message_count, payloads, due_times = tonumber(ARGV[3]), { unpack(ARGV, 5) }, {}
local options_at, biased_of = 5 + message_count, {}
for k = 1, message_count do
  biased_of[k] = (decode('>I2', ARGV[4], 2 * k - 1))
end
-- Only a bounded queue may be full.
local drops_oldest, leave_room, next_victim, read_room = nil, nil, nil, nil

-- Stores messages in the lines of their priorities. Returns how many processes to wake up.
local function store(messages, can_hand_over)
  local frames, places = {}, {}
  for k, message in ipairs(messages) do
    local id, urgency = pack('>I7', message.id), message.biased - 32768
    frames[2 * k - 1] = id
    frames[2 * k] = pack(FRAME, 0, message.id, now, message.biased, now) .. message.payload
    places[2 * k - 1] = ageing and now - urgency * ageing or -2 * urgency
    places[2 * k] = id
  end
  if not (can_hand_over and hand_over(messages[1].id, frames[2], LINE)) then
    call('HSET', FRAMES, unpack(frames))
    add_many(LINE, places)
  end
  return can_hand_over and 0 or #messages
end
