-- echo: returns its argument, so that the caller recognises the reply as its own.
--
-- ARGV[1]  a word that no other call gets in reply
-- Returns the word.
return ARGV[1]
