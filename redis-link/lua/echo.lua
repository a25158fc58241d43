-- echo: answers what it is told, so that its caller knows the reply for its own.
--
-- ARGV[1]  a word that nobody else gets in answer
-- Returns it.
return ARGV[1]
