-- Refuses to act on another queue than the caller means.
-- needs: meta
-- gives: accepted
if meta[1] ~= ARGV[2] then
  if not meta[1] then
    return false
  end
  return redis.error_reply('QKCONFIG the queue is stored as [' .. meta[1] .. '], this handle was opened as ['
    .. ARGV[2] .. ']: open it again')
end
local accepted = tonumber(meta[2]) or 0 -- messages accepted so far, and the last id given
