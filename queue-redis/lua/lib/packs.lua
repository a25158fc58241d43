-- needs: HEAD, ID, PACK, SINCE, TAGS, flags
-- gives: MESSAGES, parts, split, try
--- @include "lib/frames"
-- Packs. A pack is several messages of a pushed batch, whose ids are consecutive: writing, reading and leasing it
-- costs the server about as much as one message. It is two elements of READY, since Lua reads each byte of a string
-- that a script puts together:
--   its head  the head of a frame, with PACK for the attempts, and the first id; 1 byte, how many messages
--   the rest  as the client sent it: MESSAGES (1 byte), how many messages (1 byte), and for each its payload's length
--             (2 bytes; zero if it was cancelled) and its payload, as in a frame of its own
-- What leases fewer than it has cuts it in two, each of which is one element: a head, and the lengths and payloads
-- behind it. What needs single messages makes frames of them. META keeps, as `packed`, how many messages LLEN of READY
-- leaves out. It is negative where packs have few messages left.

local try = pcall -- of Lua, not of Redis
local MESSAGES = TAGS
-- Functions cost every turn, and most queues have no packs. There are none while no pack was ever pushed.
local parts, split
if string.find(flags, 'k', 1, true) then
  -- The frames of a pack's messages, in order, and of how many elements they are; nil if this is none. `rest` is the
  -- next element. What is damaged has frames that no client can read, so that whoever leases them has them set aside.
  function parts(frame, rest)
    local count, used = #frame > HEAD and byte(frame, 1) == PACK and byte(frame, HEAD + 1), 1
    if not count or count == 0 then
      return nil
    end
    local messages, from = frame, HEAD + 2
    if #frame == HEAD + 1 and rest and byte(rest, 1) == MESSAGES then
      messages, from, used = rest, 3, 2
    end
    local found = { try(decode, '>' .. string.rep('I2c0', count), messages, from) }
    local sound = found[count + 2] == #messages + 1
    local own, number, last = {}, decode('>I7', frame, ID), byte(frame, SINCE - 1)
    local before, since = '\0' .. sub(frame, ID, SINCE - 2), sub(frame, SINCE, HEAD)
    for k = 1, count do
      local payload = sound and found[k + 1] or not sound and '\255' .. sub(messages, from)
      if payload ~= '' and last + k <= 256 then
        own[#own + 1] = before .. string.char(last + k - 1) .. since .. payload
      elseif payload ~= '' then
        own[#own + 1] = pack('>BI7', 0, number + k - 1) .. since .. payload
      end
    end
    return own, used
  end

  -- A pack as two of one element each: one of its first messages, so many, and one of the others. `rest` is the next
  -- element if the pack is two.
  function split(frame, rest, count)
    local messages, from = rest or frame, rest and 3 or HEAD + 2
    local at = from
    for _ = 1, count do
      local high, low = byte(messages, at, at + 1)
      at = at + 2 + 256 * (high or 0) + (low or 0)
    end
    local first = sub(frame, 1, HEAD) .. string.char(count) .. sub(messages, from, at - 1)
    local others = string.char(byte(frame, HEAD + 1) - count) .. sub(messages, at)
    return first, pack('>BI7', PACK, decode('>I7', frame, ID) + count) .. sub(frame, SINCE, HEAD) .. others
  end
end
