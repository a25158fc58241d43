-- Finding and showing the undelivered messages of a priority queue.
-- needs: LINE, leave, place_of, show
-- gives: withdraw, show_ready, delayed_from

-- Takes an undelivered message out of its place. Answers whether there was one with this id.
local function withdraw(id)
  local key, member = place_of(id)
  if key then
    leave(key, member)
  end
  return key ~= nil
end

-- Gives `take` the ready messages in delivery order, behind so many, until it has enough. Answers 0 and
-- how many that were, nil at the end.
local function show_ready(_, lined, _, take)
  return show(LINE, lined, nil, take)
end

-- The first of DELAYED that is not ready, by rank.
local function delayed_from()
  return 0
end
