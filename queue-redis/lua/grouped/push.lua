-- push: stores messages, each at the tail of its group.
-- KEYS[…] the queue's keys, see `grouped/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of messages
-- ARGV[4] names: of the group of each message, one behind another
-- ARGV[5 …] payloads; then options, see `lib/push_options`
-- Returns what `lib/slow_push` says.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: META
-- gives: meta
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"
--- @include "lib/frames"
--- @include "lib/writes#add_many"
--- @include "lib/wake_up#hand_over"
--- @include "grouped/queue#groups"

--- @include "lib/slow_push"

--- @part "store"
-- The arguments of a push on a grouped queue, and its messages in their places.
-- needs: FRAME, FRAMES, LINE, add_many, free_places, hand_over, hold, read_states, regroup, state_of
-- gives: biased_of, drops_oldest, due_times, leave_room, message_count, next_victim, options_at, payloads, read_room
-- gives: store
local message_count, payloads, due_times = tonumber(ARGV[3]), {}, {}
local options_at, biased_of, next_name = 5 + message_count, {}, 1
for k = 1, message_count do
  local length = byte(ARGV[4], next_name)
  biased_of[k], payloads[k] = length, sub(ARGV[4], next_name + 1, next_name + length + 1) .. ARGV[4 + k]
  next_name = next_name + length + 2
end
-- Only a bounded queue may be full.
local drops_oldest, leave_room, next_victim, read_room = nil, nil, nil, nil

-- Stores messages at the tails of their groups. Returns how many processes to wake up.
local function store(messages, can_hand_over)
  local fields, places, names, of_name = {}, {}, {}, {}
  for k, message in ipairs(messages) do
    local id, length = pack('>I7', message.id), message.biased
    local name = string.char(length) .. sub(message.payload, 1, length + 1)
    fields[2 * k - 1], fields[2 * k] = id, pack(FRAME, 0, message.id, now, length) .. message.payload
    places[2 * k - 1], places[2 * k] = '0', name .. '\1' .. id
    if not of_name[name] then
      names[#names + 1] = name
    end
    of_name[name] = (of_name[name] or 0) + 1
  end
  read_states(names)
  local can_run = 0 -- how many of them may be leased at once
  for _, name in ipairs(names) do
    can_run = can_run + math.min(of_name[name], free_places(state_of(name)))
  end
  can_hand_over = can_hand_over and can_run > 0
  if can_hand_over and hand_over(messages[1].id, fields[2], LINE) then
    call('HSET', FRAMES, 'g' .. fields[1], names[1])
    hold({ ids = { fields[1] }, names = { [fields[1]] = names[1] } })
    regroup({ names[1] })
    return 0
  end
  call('HSET', FRAMES, unpack(fields))
  add_many(LINE, places)
  regroup(names, of_name)
  if can_run > 0 then
    return can_hand_over and 0 or can_run
  end
  -- The first message that waits in its group: a process must learn when the group is free.
  for _, name in ipairs(names) do
    if call('ZLEXCOUNT', LINE, '[' .. name, '(' .. name .. '\2') == of_name[name] then
      return 1
    end
  end
  return 0
end
