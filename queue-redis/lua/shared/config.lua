-- Refuses to act on another queue than the caller means. What follows goes by the stored configuration,
-- which another program may have changed since the handle was opened.
-- Errors: QKDAMAGED  what is stored of the queue cannot be read; nothing was done.
-- needs: META, meta
-- gives: accepted, config, flags, unreadable
local function shown(found)
  return (string.gsub(sub(found or '', 1, 200), '[^%w%p ]', '?')) -- an error is text, in one line
end

local function unreadable(field, found)
  return redis.error_reply('QKDAMAGED the field ' .. field .. ' of ' .. META .. ' is [' .. shown(found)
    .. '], which queue-kit did not write')
end

if meta[1] ~= ARGV[2] then
  if not meta[1] then
    return false
  end
  local fixed = '^kind=%S+ layout=%S+'
  local function shape(text)
    return (string.gsub(string.gsub(text, '=%d+', '='), '=none', '='))
  end
  if not string.match(meta[1], fixed) then
    return unreadable('config', meta[1])
  elseif string.match(meta[1], fixed) ~= string.match(ARGV[2], fixed) then
    return redis.error_reply('QKCONFIG the queue is stored as [' .. shown(meta[1])
      .. '], this handle was opened as [' .. ARGV[2] .. ']: open it again')
  elseif shape(meta[1]) ~= shape(ARGV[2]) then
    return unreadable('config', meta[1])
  end
end
local config = meta[1]
local accepted = tonumber(meta[2] or 0) -- messages accepted so far, and the last id given
-- By another one, ids would be given twice, and messages overwritten.
if not (accepted and accepted >= 0 and accepted < 9007199254740000) then
  return unreadable('accepted', meta[2])
end

-- What few queues have, as letters, so that the others ask for no more than that:
--   p  it is paused
--   h  a lease had a holder's name
--   u  a dedup mark was to end with its message
--   e  a message had a time to live
--   b  a message had a large body
--   o  a message was cancelled in READY and left a hole
-- All but `p` stay.
local flags = meta[3] or ''
