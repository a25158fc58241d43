-- Taking a single message out and showing all, where the undelivered have places in sorted sets and what is
-- ready stands in LINE in delivery order.
-- needs: DELAYED, LINE, delayed_from, leave, place_of, show
-- gives: show_ready, withdraw

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
  return show(LINE, lined, DELAYED == LINE and delayed_from() or nil, take)
end
