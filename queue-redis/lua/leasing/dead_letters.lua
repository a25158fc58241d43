-- dead_letters: a page of dead letters, in the order of dying (L13).
-- needs: DEAD, FRAMES, apart, fits, frame_of, size_of, tidy, writable
-- ARGV[3] number of the last death read, 0 for the first page
-- ARGV[4] how many at most
-- Returns {number to go on after or -1 at the end, record …}; records as in `graves`.
if writable then
  tidy()
end
local limit = tonumber(ARGV[4])
local dead = call('ZRANGEBYSCORE', DEAD, '(' .. ARGV[3], '+inf', 'WITHSCORES', 'LIMIT', 0, limit + 1)
local reply, frames, raw, last = { -1 }, {}, 0, -1
for k = 1, #dead, 2 do
  local record = call('HGET', FRAMES, dead[k])
  if record then
    -- The reason does not count towards the bytes.
    local frame = frame_of(record)
    frames[#frames + 1] = frame
    raw = raw + (apart and size_of(frame) or #frame)
    if #frames > limit or not fits(frames, raw) then
      reply[1] = last
      break
    end
    reply[#reply + 1] = record
    last = tonumber(dead[k + 1])
  end
end
return reply
