-- The next message of a list, for a single turn: the first of READY, if nothing comes before that, and if it is
-- sound.
-- needs: HEAD, ID, LINE, READY, SINCE, accepted, single, wants
-- gives: next_frame, next_kept, next_list, next_place, none_ready
local in_order = single and wants and call('EXISTS', LINE) == 0
local next_frame = in_order and call('LINDEX', READY, '0')
local none_ready = in_order and not next_frame
local next_id = next_frame and #next_frame > HEAD and byte(next_frame, 1) == 0 and decode('>I7', next_frame, ID) or 0
next_frame = next_id > 0 and next_id <= accepted and next_frame
local next_kept = next_frame and { sub(next_frame, ID, SINCE - 1), next_frame } -- what FRAMES does not have
local next_list, next_place = READY, nil -- where it is
