-- A reliable queue: its keys, and the parts that leasing verbs include as `{kind}/queue#…`. The line is in
-- `list/line`.
-- KEYS[1] to KEYS[9] as below; KEYS[10] is the guard; KEYS[11 …] only in calls that need them
-- src/keys.rs describes each key.
-- gives: ARRIVALS, BATCH_LEASES, BODIES, DEAD, DEDUP, DELAYED, DISTINCT, ENDS, EXTRA_HEAD, FIRSTS, FRAMES, LEASES
-- gives: LINE, META, OWNED, PROMOTED, READY, UPLOADS
local META, LEASES, FRAMES, DEAD, ARRIVALS, LINE, DELAYED, READY, BATCH_LEASES = unpack(KEYS)
local DEDUP, FIRSTS, ENDS, BODIES, UPLOADS = unpack(KEYS, 11)
local DISTINCT, OWNED = nil, nil -- distinct keys are in FRAMES: see `lib/attachments`
local EXTRA_HEAD = 0 -- bytes that a frame's head has beyond 15
local PROMOTED = DELAYED -- the key that `promote_due` reads

--- @part "results"
-- The keys of results, in calls that store or find them.
-- gives: END_MARKERS, RESULTS, RESULT_ENDS
local RESULTS, RESULT_ENDS = unpack(KEYS, 16, 17)
local END_MARKERS = 17 -- the keys behind this one

--- @part "fast_lease"
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
-- needs: end_attachments
-- gives: free
--- @include "lib/attachments"
local free = end_attachments
--- @include "list/line"

--- @part "moves"
--- @include "list/line#moves"

--- @part "counts"
--- @include "list/lookup#counts"

--- @part "lookup"
--- @include "list/lookup#lookup"
