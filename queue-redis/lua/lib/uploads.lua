-- Uploads without their push.
-- needs: BODIES, UPLOADS
-- gives: sweep

-- Drops the uploads of producers that died before their push. UPLOADS has 0 for each until a sweep first
-- sees it, then that time: so only the server's clock counts.
local sweep = UPLOADS and function()
  local over = call('ZRANGEBYSCORE', UPLOADS, '(0', string.format('%d', now - 60000), 'LIMIT', 0, CHUNK)
  if over[1] then
    call('HDEL', BODIES, unpack(over))
    call('ZREM', UPLOADS, unpack(over))
  end
  local seen = {}
  for k, reference in ipairs(call('ZRANGEBYSCORE', UPLOADS, 0, 0, 'LIMIT', 0, MANY)) do
    seen[2 * k - 1], seen[2 * k] = now_text, reference
  end
  if seen[1] then
    call('ZADD', UPLOADS, unpack(seen))
  end
end
