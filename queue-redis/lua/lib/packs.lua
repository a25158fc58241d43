-- A pack is a group of messages of one pushed batch, with consecutive ids. The server writes, reads and leases a pack
-- for about the cost of one message. A pack is two elements of READY, because Lua reads each byte of a string that a
-- script joins:
-- - its head  the head of a frame, with PACK in place of the attempts, and the first id; number of messages (1 byte)
-- - the rest  as the client sent it: MESSAGES (1 byte), number of messages (1 byte). For each message: length of its
--             payload (2 bytes; zero if it was cancelled), payload as in a frame
--
-- A lease of fewer messages splits the pack in two. Each half is one element: a head, with lengths and payloads
-- behind it. Any operation on a single message first turns the pack into frames. `packed` in META is the number of
-- messages that LLEN of READY leaves out. It is negative if packs have few messages left.
-- needs: HEAD, ID, PACK, SINCE, TAGS, flags
-- gives: MESSAGES, frames_in_pack, split_pack, try
--- @include "lib/frames"

local try = pcall -- Lua's, not Redis's
local MESSAGES = TAGS -- first byte of a pack's second element

-- These functions exist only if the queue ever had a pack. Most queues have none, and a function costs every call.
local frames_in_pack, split_pack
if string.find(flags, 'k', 1, true) then
  -- The frames of a pack's messages, in order, and the number of the pack's elements. Nil if `frame` is no pack.
  -- `rest` is the next element. A damaged pack gives frames that no client can read, so a client that leases them
  -- sets them aside.
  function frames_in_pack(frame, rest)
    local count, used = #frame > HEAD and byte(frame, 1) == PACK and byte(frame, HEAD + 1), 1
    if not count or count == 0 then
      return nil
    end
    local messages, from = frame, HEAD + 2
    if #frame == HEAD + 1 and rest and byte(rest, 1) == MESSAGES then
      messages, from, used = rest, 3, 2
    end
    local found = { try(decode, '>' .. string.rep('I2c0', count), messages, from) }
    local valid = found[count + 2] == #messages + 1
    local own, number, last = {}, decode('>I7', frame, ID), byte(frame, SINCE - 1)
    local before, since = '\0' .. sub(frame, ID, SINCE - 2), sub(frame, SINCE, HEAD)
    for k = 1, count do
      local payload = valid and found[k + 1] or not valid and '\255' .. sub(messages, from)
      if payload ~= '' and last + k <= 256 then
        own[#own + 1] = before .. string.char(last + k - 1) .. since .. payload
      elseif payload ~= '' then
        own[#own + 1] = pack('>BI7', 0, number + k - 1) .. since .. payload
      end
    end
    return own, used
  end

  -- Splits a pack in two, of one element each: the first `count` messages, and the others. `rest` is the second
  -- element of a pack that is not split yet.
  function split_pack(frame, rest, count)
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
