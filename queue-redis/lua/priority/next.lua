-- The next message of a priority queue, for a single turn, if it was never promoted or revived: then its
-- member is its id, and nothing more is kept of its place.
-- needs: FRAMES, LINE, single, wants
-- gives: next_frame, next_kept, next_list, next_place, none_ready
local next_place = single and wants and call('ZRANGE', LINE, '0', '0')[1]
local next_frame = next_place and call('HGET', FRAMES, next_place)
local none_ready = single and wants and not next_place
local next_kept, next_list = {}, nil
