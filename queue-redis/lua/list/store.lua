-- Stores pushed messages at the tail of a list. Messages that may leave before they are delivered are in LINE, because
-- they are removed from there in O(log n): messages with a distinct key (B7) or with a time to live (L17).
-- needs: FRAME, FRAMES, LINE, READY, add_to, hand_over
-- gives: store
--- @include "lib/writes#add_to"

-- Stores messages behind all messages that were accepted before. Returns how many processes to wake up.
local function store(messages, can_hand_over)
  local frames = {}
  for _, message in ipairs(messages) do
    local frame = pack(FRAME, 0, message.id, now) .. message.payload
    if message.may_leave then
      local id = pack('>I7', message.id)
      local before = pack('>I7', add_to('joins', 1))
      call('HSET', FRAMES, id, frame, 'p' .. id, before)
      call('ZADD', LINE, message.id, before .. id)
    else
      frames[#frames + 1] = frame
    end
  end
  if frames[1] and not (can_hand_over and hand_over(messages[1].id, frames[1], READY)) then
    call('RPUSH', READY, unpack(frames))
  end
  return frames[1] and can_hand_over and 0 or #messages
end
