-- What a call answers to a capacity that somebody damaged.
-- needs: META
-- gives: unreadable
local function unreadable(capacity)
  local found = string.gsub(sub(capacity or '', 1, 200), '[^%w%p ]', '?') -- an error is text, in one line
  return redis.error_reply('QKDAMAGED the field capacity of ' .. META .. ' is [' .. found
    .. '], which queue-kit did not write')
end
