-- How a verb begins that puts something in, and has to fail before it writes anything; and one that
-- reads what needs no tidying.
-- needs: META
-- gives: meta
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet')
