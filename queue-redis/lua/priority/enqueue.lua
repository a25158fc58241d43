-- enqueue: stores messages, each with its priority.
-- KEYS[…] the queue's keys, see `priority/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of messages
-- ARGV[4] priorities: priority + 32768 of each message, 2 bytes
-- ARGV[5 …] payloads; then options, see `lib/push_options`
-- Returns the last id if all messages were accepted, with consecutive ids. Otherwise an array with the id of each;
-- for a duplicate, minus the id of the first message.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: ARRIVALS, DEDUP, FRAME, FRAMES, LINE, META, accepted, add_delayed, add_many, ageing, duplicate_of
-- needs: finish_options, hand_over, mark, next_due, read_options, reclaim, times_to_live, uploads, wake_up
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

-- The slow path: options, or something to reclaim.
local function slow_path()
  --- @include "lib/push_options#delayed"

  local function enqueue()
    local count, priorities = tonumber(ARGV[3]), ARGV[4]
    local due_times = read_options(5 + count)
    -- A message with a time to live must be in ENDS until it is leased (see `add_ends`), so it is not handed over.
    local can_hand_over = count == 1 and now < next_due and not (due_times and (uploads[1] or times_to_live[1]))
    local frames, places, ids, new, duplicates = {}, {}, {}, 0, false
    local delayed, at = due_times and {}, 0
    for k = 1, count do
      local first, due = duplicate_of(k), due_times and due_times[k]
      if first then
        ids[k], duplicates = -first, true
      else
        new = new + 1
        local id, biased = pack('>I7', accepted + new), decode('>I2', priorities, 2 * k - 1)
        ids[k] = accepted + new
        if due then
          delayed[#delayed + 1] = { id = accepted + new, due = due, payload = ARGV[4 + k], biased = biased }
        else
          frames[at + 1] = id
          frames[at + 2] = pack(FRAME, 0, accepted + new, now, biased, now) .. ARGV[4 + k]
          places[at + 1] = ageing and now - (biased - 32768) * ageing or -2 * (biased - 32768)
          places[at + 2] = id
          at = at + 2
        end
        mark(k, accepted + new)
      end
    end
    if new > 0 then
      call('HINCRBY', META, 'accepted', new)
    end
    if frames[1] and not (can_hand_over and hand_over(accepted + 1, frames[2], LINE)) then
      call('HSET', FRAMES, unpack(frames))
      add_many(LINE, places)
    end
    if frames[1] and not can_hand_over then
      wake_up(ARRIVALS, at / 2)
    end
    if delayed and delayed[1] then
      add_delayed(delayed)
    end
    finish_options()
    return duplicates and ids or accepted + new
  end

  if now < next_due then
    return enqueue()
  end
  --- @include "lib/reclaim"

  reclaim()
  return enqueue()
end

return slow_path()
