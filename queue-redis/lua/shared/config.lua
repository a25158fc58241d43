-- Refuses to act on another queue than the caller means. What follows goes by the stored configuration,
-- which another program may have changed since the handle was opened.
-- needs: meta
-- gives: accepted, config, flags
if meta[1] ~= ARGV[2] then
  if not meta[1] then
    return false
  end
  local fixed = '^kind=%S+ layout=%S+'
  if string.match(meta[1], fixed) ~= string.match(ARGV[2], fixed) then
    return redis.error_reply('QKCONFIG the queue is stored as [' .. meta[1] .. '], this handle was opened as ['
      .. ARGV[2] .. ']: open it again')
  end
end
local config = meta[1]
local accepted = tonumber(meta[2]) or 0 -- messages accepted so far, and the last id given

-- What few queues have, as letters, so that the others ask for no more than that:
--   p  it is paused
--   h  a lease had a holder's name
--   u  a dedup mark was to end with its message
--   e  a message had a time to live
--   b  a message had a large body
--   o  a message was cancelled in READY and left a hole
-- All but `p` stay.
local flags = meta[3] or ''
