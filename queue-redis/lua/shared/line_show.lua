-- Showing undelivered messages, if all that is ready stands in LINE in delivery order.
-- needs: LINE, show
-- gives: show_ready, delayed_from

-- Gives `take` the ready messages in delivery order, behind so many, until it has enough. Answers 0 and
-- how many that were, nil at the end.
local function show_ready(_, lined, _, take)
  return show(LINE, lined, nil, take)
end

-- The first of DELAYED that is not ready, by rank.
local function delayed_from()
  return 0
end
