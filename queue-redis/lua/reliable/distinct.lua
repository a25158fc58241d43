-- A reliable queue has no distinct keys and no limit: nothing but a mark and a time to live ends with a message.
-- needs: end_ties
-- gives: gone
local gone = end_ties
