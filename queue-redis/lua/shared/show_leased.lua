-- Showing leased messages, those of runs one by one.
-- needs: FRAMES, LEASES, RUNS, acked_of, frames_of, has_place, is_sound
-- gives: show_leased

-- Gives `take` the leased messages by (deadline, id) with deadline, token (7 bytes) and holder, behind so many members
-- of LEASES and so many messages of the next one, until it has enough. Answers how many those were, of the next
-- member first; nil at the end.
local function show_leased(passed, rank, take)
  while true do
    local members = call('ZRANGE', LEASES, rank, rank + CHUNK - 1, 'WITHSCORES')
    if not members[1] then
      return nil
    end
    for k = 1, #members, 2 do
      local member, messages = members[k], #members[k] == 14 and 1 or 0
      if #member == 15 and call('ZSCORE', RUNS, member) then
        messages = byte(member, 15)
      end
      local frames, ids = messages > 1 and frames_of(member) or {}, {}
      local acked = messages > 1 and acked_of(member) or ''
      local id, token = decode('>I7I7', messages > 0 and member or string.rep('\0', 14))
      for n = 1, messages do
        ids[n] = pack('>I7', id + n - 1)
      end
      local kept = ids[1] and not frames[1] and call('HMGET', FRAMES, unpack(ids)) or frames
      local holder = call('HGET', FRAMES, 'h' .. (messages == 1 and ids[1] or member)) or ''
      for n = passed + 1, messages do
        local frame = kept[n]
        -- What is damaged is not shown.
        if type(frame) == 'string' and is_sound(frame, ids[n]) and not has_place(acked, n)
          and not take(frame, members[k + 1], pack('>I7', token + n - 1) .. holder) then
          return n - 1, rank
        end
      end
      passed, rank = 0, rank + 1
    end
  end
end
