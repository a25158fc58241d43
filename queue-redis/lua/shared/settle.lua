-- Settlements, one argument each, from ARGV[from] on: what to do (1 byte: a ack, r retry, d defer,
-- l release, b bury), id and token (14 bytes, a member of LEASES), then the delay in ms (7 bytes)
-- or the reason.

local function all_acks(from, count)
  for k = from, from + count - 1 do
    if byte(ARGV[k], 1) ~= 97 then
      return false
    end
  end
  return true
end

-- Answers one letter each (d done, x dead, l lease lost), how many were acked, and whether
-- something is due at once. `settle_one` ends those that are not acks.
local function settle(from, count, settle_one)
  local members = {}
  for k = 1, count do
    members[k] = sub(ARGV[from + k - 1], 2, 15)
  end
  local deadlines = call('ZMSCORE', LEASES, unpack(members))
  local answers, over, done, seen, due_now = {}, {}, {}, {}, false
  for k = 1, count do
    local member = members[k]
    if not deadlines[k] or tonumber(deadlines[k]) <= now or seen[member] then
      answers[k] = 'l'
    else
      seen[member] = true
      over[#over + 1] = member
      local settlement, id = ARGV[from + k - 1], sub(member, 1, 7)
      if byte(settlement, 1) == 97 then
        answers[k] = 'd'
        done[#done + 1] = id
      else
        local due
        answers[k], due = settle_one(settlement, id)
        due_now = due_now or due
      end
    end
  end
  if done[1] then
    gone(done)
    call('HDEL', FRAMES, unpack(done))
  end
  if over[1] then
    call('ZREM', LEASES, unpack(over))
  end
  return table.concat(answers), #done, due_now
end
