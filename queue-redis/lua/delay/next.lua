-- Where the next messages of a delay queue are, for a usual turn.
-- needs: LINE, usual, wants
-- gives: next_list, next_places
local next_list, next_places = nil, {}
if usual and wants > 0 then
  next_places = call('ZRANGEBYSCORE', LINE, '-inf', now_text, 'LIMIT', '0', wants == 1 and '1' or wants)
end
