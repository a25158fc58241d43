-- confirm: a write that leaves nothing behind.
--
-- A WAIT counts the replicas that have the last write of its connection. The calls before it may have written
-- nothing, for example if all was there before. Then this script is the last write: a replica that has it has
-- everything that the server had done before.
--
-- The first command removes nothing and needs no memory. A full server refuses only the first write of a script.
--
-- KEYS[1]  a key in the slot of those calls that nothing else uses
-- ARGV[1]  a word that no other call gets in reply
-- Returns the word. A caller that gets it has the replies to its own requests, so the next reply is the reply to its
-- WAIT.
redis.call('UNLINK', KEYS[1])
redis.call('HSET', KEYS[1], '', '')
redis.call('UNLINK', KEYS[1])
return ARGV[1]
