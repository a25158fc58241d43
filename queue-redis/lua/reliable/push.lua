-- push: puts messages at the tail, or among the delayed ones.
-- ARGV[3] how many messages, or packs
-- ARGV[4 …] their payloads; or packs without their heads, see `packs`, and nothing behind them
-- ARGV[4 + messages …] what else the push says of messages, see `terms`
-- Returns the last id if all were accepted, which then have consecutive ids; or an array with the
-- id of each, negative for the first message's id of a duplicate. OOM: nothing was written.
-- needs: ARRIVALS, DEDUP, FRAME, META, PACK, READY, accepted, arm, delay_new, duplicate_of, finish_terms, flags
-- needs: hand_over, line_new, mark, quiet_until, read_terms, tidy, times_to_live, uploads
-- gives: meta
--- @include "lib/call"
--- @include "lib/wake_up"
--- @include "{kind}/queue"
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet')
--- @include "lib/config#state"
--- @include "lib/frames"
--- @include "lib/wake_up#hand_over"
-- push, as it mostly is: there is nothing to tidy, and no message says more than its payload. Each function
-- that follows costs a push as much as a command; this is before them all.
-- ARGV and what it returns: as for `push`
local packs = ARGV[3] == 'packs'
if now < quiet_until and not DEDUP and (packs or #ARGV == 3 + ARGV[3]) then
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
    arm(ARRIVALS, last - accepted)
  end
  return last
end
local function slow_path()
  --- @include "lib/push_options#delayed"
  --- @include "lib/push_options#lined"
  local payloads = { unpack(ARGV, 4) }
  if ARGV[3] == 'packs' then
    -- Here they go in one by one.
    payloads = {}
    for k = 4, #ARGV do
      for _, payload in ipairs({ decode('>' .. string.rep('I2c0', byte(ARGV[k], 2)), ARGV[k], 3) }) do
        payloads[#payloads + 1] = type(payload) == 'string' and payload or nil
      end
    end
  end
  local function act()
    local count = tonumber(ARGV[3]) or #payloads
    local due_times = read_terms(4 + count)
    local alone = count == 1 and now < quiet_until and not (due_times and uploads[1])
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
    if frames[1] and alone then
      if not hand_over(accepted + 1, frames[1], READY) then
        call('RPUSH', READY, frames[1])
      end
    elseif frames[1] then
      call('RPUSH', READY, unpack(frames))
      arm(ARRIVALS, #frames)
    end
    if lined and lined[1] then
      for k = 1, #lined do
        line_new(unpack(lined[k]))
      end
      arm(ARRIVALS, #lined)
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
