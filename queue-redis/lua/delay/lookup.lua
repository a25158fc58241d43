-- Showing the undelivered messages of a delay queue.
-- needs: LINE, show
-- gives: show_ready, delayed_from

-- The first of DELAYED, which is LINE, that is not ready, by rank.
local function delayed_from()
  return call('ZCOUNT', LINE, '-inf', now_text)
end

-- Gives `take` the ready messages in delivery order, behind so many, until it has enough. Answers 0 and
-- how many that were, nil at the end.
local function show_ready(_, lined, _, take)
  return show(LINE, lined, delayed_from(), take)
end
