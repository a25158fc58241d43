-- refused: which of these commands the user may not run, or the server does not have.
--
-- ARGV  commands, each with the words that matter after it, parted by blanks
-- Returns those: behind a '-' where the user may not run the command, behind a '?' where the server does
-- not have it. None where the server cannot tell, before 7.0.
local refused = {}
if redis.acl_check_cmd then
  for k = 1, #ARGV do
    local words = {}
    for word in string.gmatch(ARGV[k], '%S+') do
      words[#words + 1] = word
    end
    local known, allowed = pcall(redis.acl_check_cmd, unpack(words))
    if not known then
      refused[#refused + 1] = '?' .. ARGV[k]
    elseif not allowed then
      refused[#refused + 1] = '-' .. ARGV[k]
    end
  end
end
return refused
