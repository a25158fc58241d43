-- What moves messages into the line of a delay queue.
-- needs: ARRIVALS, LINE, arm
-- gives: give_back, join, promote

-- Due at its deadline or its release (D2).
local function give_back(back, id, _, at)
  back[#back + 1] = at
  back[#back + 1] = id
end

local function join(ids)
  local places = {}
  for k = 1, #ids do
    places[2 * k - 1] = now
    places[2 * k] = ids[k]
  end
  call('ZADD', LINE, unpack(places))
  arm(ARRIVALS, #ids)
end

-- What is due is in its place already.
local function promote() end
