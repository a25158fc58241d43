-- Verbs of a claim's holder. They begin with a write that needs no memory, so that a full server
-- lets them finish what has happened and free what is held.
-- ARGV[3] key
-- ARGV[4] token
-- needs: CLAIMED, TOKENS, live
-- gives: key, ours, held
call('ZREM', CLAIMED, '')
local key = ARGV[3]
-- As text: numbers of Lua's do not tell the largest tokens apart.
local ours = call('HGET', TOKENS, key) == ARGV[4]
local held = ours and live(CLAIMED, key)
