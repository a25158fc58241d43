-- confirm: a write that leaves nothing behind.
--
-- A WAIT counts the replicas that have the last write of its connection. Where the calls before it wrote
-- nothing, since a message was a duplicate, say, this is that write: who has it has all that the server
-- had done before.
--
-- It takes no memory, so it first removes what is not there: a full server refuses a script's first write
-- alone.
--
-- KEYS[1]  a key of the queue that nothing else uses
-- ARGV[1]  a word that nobody else gets in answer
-- Returns the word: a caller that gets it has the replies to its own requests, and the next is that of its
-- wait.
redis.call('UNLINK', KEYS[1])
redis.call('HSET', KEYS[1], '', '')
redis.call('UNLINK', KEYS[1])
return ARGV[1]
