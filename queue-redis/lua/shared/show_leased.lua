-- Showing leased messages, those of runs one by one.
-- needs: FRAMES, LEASES, RUNS, acked_of, frames_of, has_place, id_in, is_sound
-- gives: show_leased

-- The messages that are leased until then, by id: with token, the frame if a run keeps it, and under what the holder's
-- name is kept. And how many members of LEASES they are.
local function leased_until(deadline)
  local found, members = {}, call('ZRANGE', LEASES, deadline, deadline, 'BYSCORE')
  for _, member in ipairs(members) do
    local is_run = #member >= 15 and call('ZSCORE', RUNS, member)
    local frames, acked = is_run and frames_of(member) or {}, is_run and acked_of(member) or ''
    for n = 1, is_run and byte(member, 15) or #member == 14 and 1 or 0 do
      local id = id_in(member, n)
      if #id == 7 and not has_place(acked, n) then
        found[#found + 1] = {
          id = id,
          number = decode('>I7', id),
          token = pack('>I7', decode('>I7', member, 8) + n - 1),
          frame = frames[n],
          holder = 'h' .. (is_run and member or id),
        }
      end
    end
  end
  table.sort(found, function(one, other)
    return one.number < other.number
  end)
  return found, #members
end

-- Gives `take` the leased messages by (deadline, id) with deadline, token (7 bytes) and holder, behind so many members
-- of LEASES and so many messages of the next deadline, until it has enough. Answers how many those were, of the next
-- deadline first; nil at the end.
local function show_leased(passed, rank, take)
  while true do
    local deadline = call('ZRANGE', LEASES, rank, rank, 'WITHSCORES')[2]
    if not deadline then
      return nil
    end
    local leased, members = leased_until(deadline)
    for first = passed + 1, #leased, CHUNK do
      local last, fields = math.min(first + CHUNK - 1, #leased), {}
      for n = first, last do
        fields[#fields + 1], fields[#fields + 2] = leased[n].id, leased[n].holder
      end
      local kept = call('HMGET', FRAMES, unpack(fields))
      for n = first, last do
        local own, at = leased[n], 2 * (n - first) + 1
        local frame = own.frame or kept[at]
        -- What is damaged is not shown.
        if type(frame) == 'string' and is_sound(frame, own.id)
          and not take(frame, deadline, own.token .. (kept[at + 1] or '')) then
          return n - 1, rank
        end
      end
    end
    passed, rank = 0, rank + members
  end
end
