-- revive: puts dead letters back at the tail, attempts anew (L13).
-- needs: DEAD, DELAYED, FRAMES, LEASES, META, add_to, frame_of, in_line, join, reframe, tidy
-- ARGV[3 …] ids
-- Returns one letter each: r revived, n not found or damaged, f full.
tidy()
local fixed = call('HMGET', META, 'capacity', 'uncounted')
local capacity = tonumber(fixed[1]) or math.huge
local occupied = in_line() + call('ZCARD', LEASES) + (tonumber(fixed[2]) or 0) + call('ZCARD', DELAYED)
local answers, revived = {}, 0
for k = 3, #ARGV do
  local id = ARGV[k]
  local record = call('ZSCORE', DEAD, id) and call('HGET', FRAMES, id)
  local frame = record and frame_of(id, record)
  if not frame then
    answers[k - 2] = 'n'
  elseif occupied >= capacity then
    answers[k - 2] = 'f'
  else
    frame = reframe(frame, 0, now, now, '')
    call('HSET', FRAMES, id, frame)
    join({ id }, { frame })
    call('ZREM', DEAD, id)
    occupied, revived = occupied + 1, revived + 1
    answers[k - 2] = 'r'
  end
end
if revived > 0 then
  add_to('revived', revived)
end
return table.concat(answers)
