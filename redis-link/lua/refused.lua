-- refused: lists commands that the user may not run, or that the server does not have.
--
-- ARGV  commands, each with the words that matter after it, separated by blanks
-- Returns these commands: '-' and the command if the user may not run it, '?' and the command if the server does not
-- have it. Returns none before Redis 7.0, which cannot say.
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
