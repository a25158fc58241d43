-- release: ends a live claim; its key is free.
-- needs: CLAIMED, TOKENS, held, key
-- Returns 1, or 0 if the claim is lost.
if not held then
  return 0
end
call('ZREM', CLAIMED, key)
call('HDEL', TOKENS, key)
return 1
