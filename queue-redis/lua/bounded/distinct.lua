-- Distinct keys (B7): DISTINCT is key → id of the message that owns it, OWNED is id → its key. Messages
-- with a key are never in READY, so that replacing one costs O(log n) wherever it is.
-- needs: DISTINCT, OWNED, ROOM, arm, end_ties
-- gives: disown, gone

-- Frees the keys of messages that are gone or dead. Answers what `end_ties` does.
local function disown(ids)
  local ended = end_ties(ids)
  local owned = call('HMGET', OWNED, unpack(ids))
  for k = 1, #ids do
    if owned[k] then
      call('HDEL', DISTINCT, owned[k])
      call('HDEL', OWNED, ids[k])
    end
  end
  return ended
end

-- These left for good, which makes room (B4).
local function gone(ids)
  disown(ids)
  arm(ROOM, #ids)
end
