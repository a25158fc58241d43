-- Showing messages whose place is in a sorted set.
-- needs: DELAYED, FRAMES, LINE, is_sound
-- gives: delayed_from, show

-- The first of DELAYED that is not ready, by rank: on a delay queue it is LINE.
local function delayed_from()
  return DELAYED == LINE and call('ZCOUNT', LINE, '-inf', now_text) or 0
end

-- Gives `take` the messages of this key from one rank to before another (nil for the end), with their
-- scores, until it has enough. Answers 0 and the rank where that was, nil at the end.
local function show(key, rank, before, take)
  while rank < (before or math.huge) do
    local till = math.min(rank + CHUNK, before or math.huge) - 1
    local members = call('ZRANGE', key, rank, till, 'WITHSCORES')
    if not members[1] then
      return nil
    end
    local ids = {}
    for k = 1, #members, 2 do
      ids[#ids + 1] = sub(members[k], -7)
    end
    local frames = call('HMGET', FRAMES, unpack(ids))
    for k = 1, #ids do
      -- What is damaged is not shown.
      if frames[k] and is_sound(frames[k], ids[k]) and not take(frames[k], members[2 * k]) then
        return 0, rank
      end
      rank = rank + 1
    end
  end
end
