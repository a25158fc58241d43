-- Showing undelivered messages, if all that is ready stands in LINE in delivery order.
-- needs: DELAYED, LINE, delayed_from, show
-- gives: show_ready

-- Gives `take` the ready messages in delivery order, behind so many, until it has enough. Answers 0 and
-- how many that were, nil at the end.
local function show_ready(_, lined, _, take)
  return show(LINE, lined, DELAYED == LINE and delayed_from() or nil, take)
end
