-- Refuses to act on another queue than the caller means. What follows goes by the stored configuration,
-- which another program may have changed since the handle was opened.
-- needs: meta
-- gives: accepted, config
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
