-- enqueue: puts messages in, each with its priority.
-- ARGV[3] how many messages
-- ARGV[4] priority + 32768 of each, 2 bytes
-- ARGV[5 …] their payloads
-- ARGV[5 + messages …] what else the push says of messages, see `terms`
-- Returns the last id if all were accepted, which then have consecutive ids; or an array with the
-- id of each, negative for the first message's id of a duplicate. OOM: nothing was written.
-- needs: ARRIVALS, DEDUP, FRAME, FRAMES, LINE, META, accepted, add_many, ageing, arm, delay_new, duplicate_of
-- needs: finish_terms, hand_over, mark, quiet_until, read_terms, tidy, times_to_live, uploads
-- gives: meta
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet')
--- @include "lib/config#state"
--- @include "lib/frames"
--- @include "lib/writes#add_many"
--- @include "lib/wake_up#hand_over"
--- @include "{kind}/queue#settings"
-- enqueue, as it mostly is: there is nothing to tidy, and no message says more than its payload and its
-- priority. Each function that follows costs a push as much as a command; this is before them all. The new frames
-- are put together here, by what `frames` tells.
-- ARGV and what it returns: as for `enqueue`
if now < quiet_until and not DEDUP and #ARGV == 4 + ARGV[3] then
  local count, frames, places = tonumber(ARGV[3]), {}, {}
  local since, told, place = pack('>I7', now), nil, nil
  for k = 1, count do
    local id, biased = pack('>I7', accepted + k), sub(ARGV[4], 2 * k - 1, 2 * k)
    if biased ~= told then
      local priority = decode('>I2', biased) - 32768
      told, place = biased, string.format('%d', ageing and now - priority * ageing or -2 * priority)
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
    arm(ARRIVALS, count)
  end
  return accepted + count
end
local function slow_path()
  --- @include "lib/push_options#delayed"
  local function act()
    local count, priorities = tonumber(ARGV[3]), ARGV[4]
    local due_times = read_terms(5 + count)
    -- One that ends by itself waits for its end until it is leased (see `wait_on`).
    local alone = count == 1 and now < quiet_until and not (due_times and (uploads[1] or times_to_live[1]))
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
    if frames[1] and not (alone and hand_over(accepted + 1, frames[2], LINE)) then
      call('HSET', FRAMES, unpack(frames))
      add_many(LINE, places)
    end
    if frames[1] and not alone then
      arm(ARRIVALS, at / 2)
    end
    if delayed and delayed[1] then
      delay_new(delayed)
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
