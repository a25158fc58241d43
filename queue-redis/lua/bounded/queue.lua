-- Bounded queues. DEDUP and what follows it are there only in calls that need them. KEYS[13] is the guard.
-- gives: ADDS, ARRIVALS, BODIES, DEAD, DEDUP, DELAYED, DISTINCT, ENDS, FIRSTS, FRAMES, LEASES, LINE, META, OWNED
-- gives: PROMOTED, READY, ROOM, RUNS, UPLOADS
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, RUNS = unpack(KEYS)
local ROOM, DISTINCT, OWNED, _, DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 10)
local ADDS = 0 -- bytes to the head of a frame
local PROMOTED = DELAYED -- what `promote` looks through

--- @part "fast_lease"
-- A usual turn of a bounded queue acks messages without distinct keys, and tells those who wait for room. Those of a
-- run have none.
-- needs: OWNED, ROOM, forgotten, makes_room, only_acks, plain, settlements, singles, usual
if only_acks and settlements > 0 then
  makes_room = ROOM
  if singles > 0 and call('EXISTS', OWNED) == 1 then
    for _, key in ipairs(call('HMGET', OWNED, unpack(forgotten))) do
      plain = plain and not key
    end
    usual = usual and plain
  end
end
--- @include "list/fast_lease"

--- @part "line"
-- needs: DISTINCT, OWNED, ROOM, arm, end_ties
-- gives: disown, gone
--- @include "lib/wake_up"
--- @include "lib/attachments"
-- Distinct keys (B7): DISTINCT is key → id of the message that owns it, OWNED is id → its key. Messages
-- with a key are never in READY, so that replacing one costs O(log n) wherever it is.

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
--- @include "list/line"

--- @part "moves"
--- @include "list/line#moves"

--- @part "counts"
--- @include "list/lookup#counts"

--- @part "lookup"
--- @include "list/lookup#lookup"
