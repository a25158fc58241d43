-- Messages that are pushed before they are due (D1).
-- needs: ARRIVALS, DELAYED, FRAME, FRAMES, PAST, WITH_PAST, add_many, arm, expect
-- gives: delay_new

-- Keeps these until they are due. An earlier first due time is told to those who sleep towards a later
-- one (D5). On a priority queue, each has its priority as a frame has it, and arrives when it is due.
local function delay_new(messages)
  local frames, places, arrived = {}, {}, false
  for k, message in ipairs(messages) do
    local id, due = pack('>I7', message.id), message.due
    local head = pack(FRAME, WITH_PAST, message.id, due, message.biased, due)
    frames[2 * k - 1], frames[2 * k] = id, head .. pack(PAST, 0, now, 0) .. message.payload
    places[2 * k - 1], places[2 * k] = due, id
    expect(due)
  end
  call('HSET', FRAMES, unpack(frames))
  add_many(DELAYED, places)
  local first = call('ZRANGE', DELAYED, 0, 0)[1]
  for k = 2, #places, 2 do
    arrived = arrived or places[k] == first
  end
  if arrived then
    arm(ARRIVALS, 1)
  end
end
