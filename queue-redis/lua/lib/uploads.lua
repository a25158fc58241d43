-- Large bodies are stored out of line, because a script pays for each byte of each string that it reads. Headers and
-- body of 16 KiB and more are in BODIES, by a reference that the producer made up. The frame contains the reference.
-- A producer notes the reference in UPLOADS, and uploads the body without a script; then its push removes the note.
-- Consumers read BODIES without a script, too.
-- needs: BODIES, UPLOADS
-- gives: sweep

-- Drops uploads of producers that died before their push. The score of an upload is 0 until a sweep first sees it,
-- and the time of that sweep from then on. So only the server's clock counts.
local sweep = UPLOADS and function()
  local dropped = call('ZRANGEBYSCORE', UPLOADS, '(0', string.format('%d', now - 60000), 'LIMIT', 0, CHUNK)
  if dropped[1] then
    call('HDEL', BODIES, unpack(dropped))
    call('ZREM', UPLOADS, unpack(dropped))
  end
  local seen = {}
  for k, reference in ipairs(call('ZRANGEBYSCORE', UPLOADS, 0, 0, 'LIMIT', 0, MANY)) do
    seen[2 * k - 1], seen[2 * k] = now_text, reference
  end
  if seen[1] then
    call('ZADD', UPLOADS, unpack(seen))
  end
end
