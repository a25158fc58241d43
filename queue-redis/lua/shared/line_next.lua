-- Where the next messages are, for a usual turn, if all that is ready stands in LINE in delivery order.
-- needs: LINE, usual, wants
-- gives: next_list, next_places
local next_list, next_places = nil, {}
if usual and wants > 0 then
  next_places = call('ZRANGE', LINE, '0', wants == 1 and '0' or wants - 1)
end
