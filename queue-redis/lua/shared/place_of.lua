-- Finding an undelivered message by its id, unless it is in READY.
-- needs: DELAYED, FRAMES, LINE
-- gives: place_of

-- The key and the member by which it stands there; nothing if it does not.
local function place_of(id)
  local before = call('HGET', FRAMES, 'p' .. id)
  if before then
    return LINE, before .. id
  elseif call('ZSCORE', LINE, id) then
    return LINE, id
  elseif call('ZSCORE', DELAYED, id) then
    return DELAYED, id
  end
end
