-- A bounded queue: its keys, and the parts that leasing verbs include as `{kind}/queue#…`. The line is in
-- `list/line`.
-- KEYS[1] to KEYS[12] as below; KEYS[13] is the guard; KEYS[14 …] only in calls that need them
-- src/keys.rs describes each key.
-- gives: ARRIVALS, BATCH_LEASES, BODIES, DEAD, DEDUP, DELAYED, DISTINCT, ENDS, EXTRA_HEAD, FIRSTS, FRAMES, LEASES
-- gives: LINE, META, OWNED, PROMOTED, READY, ROOM, UPLOADS
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, BATCH_LEASES = unpack(KEYS)
local ROOM, DISTINCT, OWNED, _, DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 10)
local EXTRA_HEAD = 0 -- bytes that a frame's head has beyond 15
local PROMOTED = DELAYED -- the key that `promote_due` reads

--- @part "results"
-- The keys of results, in calls that store or find them.
-- gives: END_MARKERS, RESULTS, RESULT_ENDS
local RESULTS, RESULT_ENDS = unpack(KEYS, 19, 20)
local END_MARKERS = 20 -- the keys behind this one

--- @part "fast_lease"
-- The fast path acks messages without distinct keys, and wakes up producers that wait for room. Messages of a batch
-- lease have no distinct keys.
-- needs: OWNED, ROOM, fast, forgotten, only_acks, room_marker, settlements, singles, unattached
if only_acks and settlements > 0 then
  room_marker = ROOM
  if singles > 0 and call('EXISTS', OWNED) == 1 then
    for _, key in ipairs(call('HMGET', OWNED, unpack(forgotten))) do
      unattached = unattached and not key
    end
    fast = fast and unattached
  end
end

--- @include "list/fast_lease"

--- @part "fast_settle_and_lease"
-- Its messages have no groups: see `grouped/queue`.

--- @part "groups"
-- Its messages have no groups: see `grouped/queue`.
-- gives: count_groups, end_places, frees_at, hold, keep_place, park, plain_members, plain_place, regroup_members
local count_groups, end_places, frees_at, hold = nil, nil, nil, nil
local keep_place, park, plain_members, plain_place, regroup_members = nil, nil, nil, nil, nil

--- @part "change_rates"
-- gives: change_rates
local change_rates = nil

--- @part "line"
-- needs: ROOM, end_attachments, wake_up
-- gives: free
--- @include "lib/wake_up"
--- @include "lib/attachments"

-- Messages are acked, dead or removed: ends their attachments, and makes room (B4).
local function free(ids)
  end_attachments(ids)
  wake_up(ROOM, #ids)
end

--- @include "list/line"

--- @part "moves"
--- @include "list/line#moves"

--- @part "counts"
--- @include "list/lookup#counts"

--- @part "lookup"
--- @include "list/lookup#lookup"
