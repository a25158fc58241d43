-- Finding an undelivered message by its id, unless it is in READY, and taking it out.
-- needs: DELAYED, FRAMES, LINE, leave_line
-- gives: place_of, leave

-- The key and the member by which it stands there; nothing if it does not.
local function place_of(id)
  local before = call('HGET', FRAMES, 'p' .. id)
  if before and call('ZSCORE', LINE, before .. id) then
    return LINE, before .. id
  elseif call('ZSCORE', LINE, id) then
    return LINE, id
  elseif call('ZSCORE', DELAYED, id) then
    return DELAYED, id
  end
end

-- Takes it out of where `place_of` found it.
local function leave(key, member)
  if key == LINE then
    leave_line({ member })
  else
    call('ZREM', key, member)
  end
end
