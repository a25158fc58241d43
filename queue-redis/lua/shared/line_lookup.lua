-- Taking a single message out, where all that are undelivered have places in sorted sets.
-- needs: leave, place_of
-- gives: withdraw

-- Takes an undelivered message out of its place. Answers whether there was one with this id.
local function withdraw(id)
  local key, member = place_of(id)
  if key then
    leave(key, member)
  end
  return key ~= nil
end
