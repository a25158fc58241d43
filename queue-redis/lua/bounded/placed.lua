-- Follows owners to their new places at the tail.
-- needs: OWNED
-- gives: placed
local function placed(ids, number)
  local owned = call('HMGET', OWNED, unpack(ids))
  for k = 1, #ids do
    if owned[k] then
      call('HSET', OWNED, ids[k], pack('>I7', number + k) .. sub(owned[k], 8))
    end
  end
end
