-- push: stores messages at the tail as far as there is room.
-- KEYS[…] the queue's keys, see `bounded/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of messages
-- ARGV[4] overflow: 1 drops the oldest message if there is no room, 0 refuses the new one; one digit for all
--   messages, or one for each
-- ARGV[5 …] payloads; then options, see `lib/push_options`
-- Returns what `lib/slow_push` says.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: ARRIVALS, DEDUP, DELAYED, FRAME, LEASES, LINE, META, READY, ROOM, accepted, flags, hand_over, next_due
-- needs: wake_up
-- gives: meta
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"
--- @include "lib/frames"
--- @include "lib/wake_up#hand_over"

-- The fast path: nothing to reclaim, no options, no holes (o), and room for all messages.
if now < next_due and not DEDUP and #ARGV == 4 + ARGV[3] and not string.find(flags, 'o', 1, true) then
  local count, stored = tonumber(ARGV[3]), call('HMGET', META, 'capacity', 'surplus', 'uncounted')
  local occupied = call('LLEN', READY) + call('ZCARD', LINE) + call('ZCARD', LEASES) + call('ZCARD', DELAYED)
  occupied = occupied + (tonumber(stored[3]) or 0)
  local room = (tonumber(stored[1]) or 0) - occupied - count
  if room >= 0 and (stored[2] or '0') == '0' then
    local frames = {}
    for k = 1, count do
      frames[k] = pack(FRAME, 0, accepted + k, now) .. ARGV[4 + k]
    end
    local handed_over = count == 1 and hand_over(accepted + 1, frames[1], READY)
    call('HINCRBY', META, 'accepted', count)
    if not handed_over then
      call('RPUSH', READY, unpack(frames))
    end
    if count > 1 then
      wake_up(ARRIVALS, count)
    end
    if room > 0 then
      wake_up(ROOM, math.min(MANY, room), true)
    end
    return accepted + count
  end
end

--- @include "lib/slow_push"

--- @part "store"
-- The arguments of a push on a bounded queue, and its room.
-- needs: DELAYED, LEASES, LINE, META, READY, ROOM, add_to, end_attachments, forget, holes, pick, remove_picked
-- needs: shorten, unreadable, wake_up
-- gives: biased_of, drops_oldest, due_times, leave_room, message_count, next_victim, options_at, payloads, read_room
--- @include "list/store"
--- @include "{kind}/queue#line"
--- @include "bounded/capacity#shorten"
--- @include "bounded/capacity#unreadable"
local message_count, payloads, due_times = tonumber(ARGV[3]), { unpack(ARGV, 5) }, {}
local options_at, biased_of = 5 + message_count, nil

-- Whether an entry drops the oldest message if there is no room.
local function drops_oldest(entry)
  return byte(ARGV[4], #ARGV[4] == 1 and 1 or entry) == 49
end

-- The number of messages that there is room for, after the steps that a resize has left. Or nil, and the reply to an
-- unreadable capacity.
local function read_room()
  local stored = call('HMGET', META, 'capacity', 'surplus', 'uncounted')
  local capacity, surplus = tonumber(stored[1]), tonumber(stored[2]) or 0
  if not (capacity and capacity >= 1) then
    return nil, unreadable(stored[1])
  end
  local leased = call('ZCARD', LEASES) + (tonumber(stored[3]) or 0)
  local occupied = call('LLEN', READY) - holes + call('ZCARD', LINE) + leased + call('ZCARD', DELAYED)
  if surplus > 0 then
    local _, removed = shorten(occupied)
    occupied = occupied - removed
  end
  return capacity - occupied
end

-- The id of the next message in delivery order, delayed ones last; and a function that drops it, and returns the dedup
-- keys whose marks end. If there is no id, that sets a damaged message aside. Returns nil if all are leased.
local function next_victim()
  local picked = pick(1)
  if picked.damaged[1] then
    return nil, function()
      remove_picked(picked)
    end
  end
  local victim = picked.ids[1]
  local delayed = not victim and call('ZRANGE', DELAYED, 0, 0)[1]
  victim = victim or delayed
  return victim, victim and function()
    add_to('evicted', 1)
    local ended = end_attachments({ victim })
    forget({ victim })
    if delayed then
      call('ZREM', DELAYED, victim)
    else
      remove_picked(picked)
    end
    return ended
  end
end

-- A producer that was woken up for room, and leaves some, wakes up the next. So does one whose messages were all
-- duplicates (B4).
local function leave_room(room)
  if room > 0 then
    wake_up(ROOM, math.min(MANY, room), true)
  end
end
