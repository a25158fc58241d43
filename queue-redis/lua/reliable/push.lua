-- push: stores messages at the tail, or among the delayed ones.
-- KEYS[…] the queue's keys, see `reliable/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of messages; or 'packs'
-- ARGV[4 …] payloads; then options, see `lib/push_options`. Or packs without their heads, see `lib/packs`
-- Returns the last id if all messages were accepted, with consecutive ids. Otherwise an array with the id of each;
-- for a duplicate, minus the id of the first message.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: ARRIVALS, DEDUP, FRAME, META, PACK, READY, accepted, add_delayed, add_to_line, duplicate_of, finish_options
-- needs: flags, hand_over, mark, next_due, read_options, reclaim, times_to_live, uploads, wake_up
-- gives: meta
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
    if not string.find(flags, 'k', 1, true) then
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

-- The slow path: options, or something to reclaim.
local function slow_path()
  --- @include "lib/push_options#delayed"
  --- @include "lib/push_options#tail"

  local payloads = { unpack(ARGV, 4) }
  if ARGV[3] == 'packs' then
    -- On the slow path, messages of packs are stored one by one.
    payloads = {}
    for k = 4, #ARGV do
      for _, payload in ipairs({ decode('>' .. string.rep('I2c0', byte(ARGV[k], 2)), ARGV[k], 3) }) do
        payloads[#payloads + 1] = type(payload) == 'string' and payload or nil
      end
    end
  end
  local function push()
    local count = tonumber(ARGV[3]) or #payloads
    local due_times = read_options(4 + count)
    local can_hand_over = count == 1 and now < next_due and not (due_times and uploads[1])
    local frames, ids, new, duplicates = {}, {}, 0, false
    local delayed, lined = due_times and {}, due_times and {}
    for k = 1, count do
      local first, due = duplicate_of(k), due_times and due_times[k]
      if first then
        ids[k], duplicates = -first, true
      else
        new = new + 1
        local id = accepted + new
        ids[k] = id
        if due then
          delayed[#delayed + 1] = { id = id, due = due, payload = payloads[k] }
        elseif lined and times_to_live[k] then
          lined[#lined + 1] = { id, payloads[k] }
        else
          frames[#frames + 1] = pack(FRAME, 0, id, now) .. payloads[k]
        end
        mark(k, id)
      end
    end
    if new > 0 then
      call('HINCRBY', META, 'accepted', new)
    end
    if frames[1] and can_hand_over then
      if not hand_over(accepted + 1, frames[1], READY) then
        call('RPUSH', READY, frames[1])
      end
    elseif frames[1] then
      call('RPUSH', READY, unpack(frames))
      wake_up(ARRIVALS, #frames)
    end
    if lined and lined[1] then
      for k = 1, #lined do
        add_to_line(unpack(lined[k]))
      end
      wake_up(ARRIVALS, #lined)
    end
    if delayed and delayed[1] then
      add_delayed(delayed)
    end
    finish_options()
    return duplicates and ids or accepted + new
  end

  if now < next_due then
    return push()
  end
  --- @include "lib/reclaim"

  reclaim()
  return push()
end

return slow_path()
