-- push: stores messages, each at the tail of its group.
-- KEYS[…] the queue's keys, see `grouped/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] count: the number of messages
-- ARGV[4] names: of the group of each message, one behind another
-- ARGV[5 …] payloads; then options, see `lib/push_options`
-- Returns the last id if all messages were accepted, with consecutive ids. Otherwise an array with the id of each;
-- for a duplicate, minus the id of the first message.
-- Errors: OOM  the server is full. Nothing was written.
-- needs: ARRIVALS, FRAME, FRAMES, LINE, META, accepted, add_delayed, add_many, duplicate_of, finish_options
-- needs: free_places, hand_over, hold, mark, next_due, read_options, read_states, reclaim, regroup
-- needs: state_of, times_to_live, uploads, wake_up
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

local function slow_path()
  --- @include "lib/push_options#delayed"

  local function push()
    local count = tonumber(ARGV[3])
    local due_times = read_options(5 + count)
    -- A message with a time to live must be in ENDS until it is leased (see `add_ends`), so it is not handed over.
    local can_hand_over = count == 1 and now < next_due and not (due_times and (uploads[1] or times_to_live[1]))
    local fields, places, names, of_name, ids, new, duplicates = {}, {}, {}, {}, {}, 0, false
    local delayed, at = {}, 1
    for k = 1, count do
      local first, due = duplicate_of(k), due_times and due_times[k]
      local length = byte(ARGV[4], at)
      local name, payload = sub(ARGV[4], at, at + length + 1), ARGV[4 + k]
      at = at + length + 2
      if first then
        ids[k], duplicates = -first, true
      else
        new = new + 1
        local number = accepted + new
        payload = sub(name, 2) .. payload
        ids[k] = number
        if due then
          delayed[#delayed + 1] = { id = number, due = due, payload = payload, biased = length }
        else
          local id, last = pack('>I7', number), #places
          fields[last + 1], fields[last + 2] = id, pack(FRAME, 0, number, now, length) .. payload
          places[last + 1], places[last + 2] = '0', name .. '\1' .. id
          if not of_name[name] then
            names[#names + 1] = name
          end
          of_name[name] = (of_name[name] or 0) + 1
        end
        mark(k, number)
      end
    end
    if new > 0 then
      call('HINCRBY', META, 'accepted', new)
    end
    read_states(names)
    local can_run = 0 -- how many of them may be leased at once
    for _, name in ipairs(names) do
      can_run = can_run + math.min(of_name[name], free_places(state_of(name)))
    end
    local handed_over = can_run > 0 and can_hand_over and hand_over(accepted + 1, fields[2], LINE)
    if handed_over then
      call('HSET', FRAMES, 'g' .. fields[1], names[1])
      hold({ ids = { fields[1] }, names = { [fields[1]] = names[1] } })
      regroup({ names[1] })
    end
    handed_over = handed_over or not places[1]
    if not handed_over then
      call('HSET', FRAMES, unpack(fields))
      add_many(LINE, places)
      regroup(names, of_name)
    end
    if can_run > 0 and not can_hand_over then
      wake_up(ARRIVALS, can_run)
    end
    -- The first message that waits in its group: a process must learn when the group is free.
    for _, name in ipairs(can_run == 0 and names or {}) do
      if call('ZLEXCOUNT', LINE, '[' .. name, '(' .. name .. '\2') == of_name[name] then
        wake_up(ARRIVALS, 1)
        break
      end
    end
    if delayed[1] then
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
