-- push: stores messages at the tail, or among the delayed ones.
-- KEYS[…] the queue's keys, see `reliable/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of messages; or 'packs'
-- ARGV[4 …] payloads; then options, see `lib/push_options`. Or packs without their heads, see `lib/packs`
-- Returns what `lib/slow_push` says.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: ARRIVALS, DEDUP, FRAME, META, PACK, READY, accepted, flags, hand_over, next_due, wake_up
-- gives: meta, packs
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
--- @include "lib/config#state"
--- @include "lib/frames"
--- @include "lib/wake_up#hand_over"

-- The fast path: nothing to reclaim, and no options.
local packs = ARGV[3] == 'packs'
if now < next_due and not DEDUP and (packs or #ARGV == 3 + ARGV[3]) then
  local frames, last = {}, accepted
  for k = 4, #ARGV do
    if packs then
      local count = byte(ARGV[k], 2)
      frames[2 * k - 7], frames[2 * k - 6] = pack(FRAME .. 'B', PACK, last + 1, now, count), ARGV[k]
      last = last + count
    else
      last = last + 1
      frames[k - 3] = pack(FRAME, 0, last, now) .. ARGV[k]
    end
  end
  local one = not packs and #ARGV == 4
  local handed_over = one and hand_over(last, frames[1], READY)
  call('HINCRBY', META, 'accepted', last - accepted)
  if packs then
    call('HINCRBY', META, 'packed', last - accepted - #frames)
    local had_packs = string.find(flags, 'k', 1, true)
    if not had_packs then
      call('HSET', META, 'flags', flags .. 'k')
    end
  end
  if not handed_over then
    call('RPUSH', READY, unpack(frames))
  end
  if not one then
    wake_up(ARRIVALS, last - accepted)
  end
  return last
end

--- @include "lib/slow_push"

--- @part "store"
-- The arguments of a push on a reliable queue.
-- needs: packs
-- gives: biased_of, drops_oldest, due_times, leave_room, message_count, next_victim, options_at, payloads, read_room
--- @include "list/store"
local message_count, payloads, due_times = tonumber(ARGV[3]), { unpack(ARGV, 4) }, {}
local options_at, biased_of = 4 + (message_count or #payloads), nil
if packs then
  -- On the slow path, messages of packs are stored one by one.
  payloads = {}
  for k = 4, #ARGV do
    for _, payload in ipairs({ decode('>' .. string.rep('I2c0', byte(ARGV[k], 2)), ARGV[k], 3) }) do
      payloads[#payloads + 1] = type(payload) == 'string' and payload or nil
    end
  end
  message_count = #payloads
end
-- Only a bounded queue may be full.
local drops_oldest, leave_room, next_victim, read_room = nil, nil, nil, nil
