-- Refuses to act on another queue than the caller means. What follows goes by the stored configuration,
-- which another program may have changed since the handle was opened.
-- A queue is stored with a mark, ` unlisted=<token>`, until it is in the list of queues, which is in another slot
-- (see `src/queue/opening.rs`). The mark costs other queues nothing: only a comparison that failed looks for it.
-- Returns, instead of what the script says: `UNLISTED <token>` if the queue has the mark and the caller does not
-- send it; then nothing was done.
-- Errors: QKDAMAGED  what is stored of the queue cannot be read; nothing was done.
-- needs: META, meta
-- gives: accepted, config, flags
if meta[1] ~= ARGV[2] then
  if not meta[1] then
    return false
  end
  local fixed = '^kind=%S+ layout=%S+'
  local mark = ' unlisted=(%x+)$'
  local function shape(text)
    return (string.gsub(string.gsub(string.gsub(text, mark, ''), '=%d+', '='), '=none', '='))
  end
  local listed = string.gsub(meta[1], mark, '')
  local shown = string.gsub(sub(listed, 1, 200), '[^%w%p ]', '?') -- an error is text, in one line
  local found = string.match(meta[1], fixed)
  if found and found ~= string.match(ARGV[2], fixed) then
    return redis.error_reply('QKCONFIG the queue is stored as [' .. shown .. '], this handle was opened as ['
      .. ARGV[2] .. ']: open it again')
  end
  local token = string.match(meta[1], mark)
  if found and token and not string.match(ARGV[2], mark) then
    return redis.status_reply('UNLISTED ' .. token)
  elseif not found or shape(meta[1]) ~= shape(ARGV[2]) then
    return redis.error_reply('QKDAMAGED the field config of ' .. META .. ' is [' .. shown
      .. '], which queue-kit did not write')
  end
end
local config = meta[1]
local accepted = tonumber(meta[2] or 0) -- messages accepted so far, and the last id given
-- By another one, ids would be given twice, and messages overwritten.
if not (accepted and accepted >= 0 and accepted < 9007199254740000) then
  return redis.error_reply('QKDAMAGED the field accepted of ' .. META .. ' is not what queue-kit wrote')
end

-- What few queues have, as letters, so that the others ask for no more than that:
--   p  it is paused
--   h  a lease had a holder's name
--   u  a dedup mark was to end with its message
--   e  a message had a time to live
--   b  a message had a large body
--   o  a message was cancelled in READY and left a hole
--   k  there was a pack
-- All but `p` stay.
local flags = meta[3] or ''
