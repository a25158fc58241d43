-- The next message of a delay queue, for a single turn.
-- needs: FRAMES, LINE, single, wants
-- gives: next_frame, next_kept, next_list, next_place, none_ready
local next_place = single and wants and call('ZRANGEBYSCORE', LINE, '-inf', now_text, 'LIMIT', '0', '1')[1]
local next_frame = next_place and call('HGET', FRAMES, next_place)
local none_ready = single and wants and not next_place
local next_kept, next_list = {}, nil
