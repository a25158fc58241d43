-- Packs. A pack is one element of READY with several messages of a pushed batch, whose ids are consecutive:
-- writing, reading and leasing it costs the server about as much as one message. It is
--   the head of a frame, with PACK for the attempts, and the first id
--   1 byte    how many messages
--   for each  its payload's length (2 bytes; zero if it was cancelled) and its payload, as in a frame of its own
-- What leases fewer than it has cuts it in two; what needs single messages makes frames of them. META keeps, as
-- `packed`, how many messages LLEN of READY leaves out.
-- needs: HEAD, ID, PACK, SINCE, flags
-- gives: parts, split, try

local try = pcall -- of Lua, not of Redis
-- Functions cost every turn, and most queues have no packs. There are none while no pack was ever pushed.
local parts, split = nil, nil
if string.find(flags, 'k', 1, true) then
  -- The frames of a pack's messages, in order; nil if this is none. What is damaged has frames that no client can
  -- read, so that whoever leases them has them set aside.
  function parts(frame)
    local count = #frame > HEAD and byte(frame, 1) == PACK and byte(frame, HEAD + 1)
    if not count or count == 0 then
      return nil
    end
    local found = { try(decode, '>' .. string.rep('I2c0', count), frame, HEAD + 2) }
    local sound = found[count + 2] == #frame + 1
    local own, number, last = {}, decode('>I7', frame, ID), byte(frame, SINCE - 1)
    local before, since = '\0' .. sub(frame, ID, SINCE - 2), sub(frame, SINCE, HEAD)
    for k = 1, count do
      local payload = sound and found[k + 1] or not sound and '\255' .. sub(frame, HEAD + 2)
      if payload ~= '' and last + k <= 256 then
        own[#own + 1] = before .. string.char(last + k - 1) .. since .. payload
      elseif payload ~= '' then
        own[#own + 1] = pack('>BI7', 0, number + k - 1) .. since .. payload
      end
    end
    return own
  end

  -- A pack as two: one of its first messages, so many, and one of the others.
  function split(frame, count)
    local at = HEAD + 2
    for _ = 1, count do
      local high, low = byte(frame, at, at + 1)
      at = at + 2 + 256 * (high or 0) + (low or 0)
    end
    local first = sub(frame, 1, HEAD) .. string.char(count) .. sub(frame, HEAD + 2, at - 1)
    local others = string.char(byte(frame, HEAD + 1) - count) .. sub(frame, at)
    return first, pack('>BI7', PACK, decode('>I7', frame, ID) + count) .. sub(frame, SINCE, HEAD) .. others
  end
end
