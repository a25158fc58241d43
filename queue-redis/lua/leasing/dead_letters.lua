-- dead_letters: a page of dead letters, in the order of dying (L13).
-- needs: DEAD, FRAMES, apart, fits, frame_of, size_of, tidy, writable
-- ARGV[3] number of the last death read, 0 for the first page
-- ARGV[4] how many at most
-- Returns {number to go on after or -1 at the end, record …}; records as in `graves`.
if writable then
  tidy()
end
local LAST = '9007199254740991' -- a damaged number above would begin the same page again
local limit = tonumber(ARGV[4])
local dead = call('ZRANGEBYSCORE', DEAD, '(' .. ARGV[3], LAST, 'WITHSCORES', 'LIMIT', 0, limit + 1)
local reply, frames, raw, last = { -1 }, {}, 0, -1
for k = 1, #dead, 2 do
  local record = call('HGET', FRAMES, dead[k]) or ''
  -- The reason does not count towards the bytes.
  local frame, instead = frame_of(dead[k], record)
  frames[#frames + 1] = frame or instead
  raw = raw + (frame and apart and size_of(frame) or #frames[#frames])
  if #frames > limit or not fits(frames, raw) then
    -- A page that shows anything ends behind where it began.
    reply[1] = math.max(math.floor(last), ARGV[3] + 1)
    break
  end
  reply[#reply + 1] = instead or record
  last = tonumber(dead[k + 1])
end
return reply
