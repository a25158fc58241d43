-- A reliable queue has no distinct keys and no limit: nothing but its dedup mark may end with a message.
-- needs: end_marks
-- gives: gone
local gone = end_marks
