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

--- @part "state"
-- What ends with a message, where any message has it: its time to live (L17), a dedup mark (L9), or a body
-- that is apart (see `bodies`). Such a queue needs DEDUP and the keys behind it in every call.
-- Returns, instead of what the script says: KEYS if the caller shall send those keys, too, and then
-- nothing was done.
-- needs: DEDUP, UPLOADS, flags, meta
-- gives: apart, limited, quiet_until, uniques
local limited, uniques, apart = false, false, false -- whether there ever was a time to live, such a mark or body
if flags ~= '' then
  limited = string.find(flags, 'e', 1, true) ~= nil
  uniques = string.find(flags, 'u', 1, true) ~= nil
  apart = string.find(flags, 'b', 1, true) ~= nil
  if (limited or uniques or apart) and not DEDUP then
    return redis.status_reply('KEYS')
  end
end
-- What mostly spares a call the looks for what is to be reclaimed, promoted or ended. META keeps, as
-- `quiet`, a time that is not later than the first deadline in LEASES, due time in DELAYED and end in ENDS.
-- Who writes an earlier one says so by `expect`. Who removes one need not: a look that finds nothing does
-- no harm. `tidy` looks once the time has come, and notes the next. It looks at once while a body waits in
-- UPLOADS, which producers fill without a script.
local quiet_until = tonumber(meta[4]) or 0
if UPLOADS and call('EXISTS', UPLOADS) == 1 then
  quiet_until = 0
end
