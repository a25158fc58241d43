-- Results of acked messages (S1, S2). RESULTS has the result by id, and RESULT_ENDS the ids by the end of their time.
-- An end marker is a marker of one message, see `waiting/marker#join`: of processes that wait for its result.
-- needs: RESULTS, RESULT_ENDS
-- gives: keep_result
--- @include "{kind}/queue#results"

local function drop_results(ids)
  if ids[1] then
    call('HDEL', RESULTS, unpack(ids))
    call('ZREM', RESULT_ENDS, unpack(ids))
  end
end

-- Stores the result of a message, and wakes up the processes that wait at its end marker. `settlement` is an ack with
-- a result, see `leasing/settle_and_lease`. Drops results whose time is over, and those that are too many; up to 128 of
-- each.
local function keep_result(id, settlement, marker)
  drop_results(call('ZRANGEBYSCORE', RESULT_ENDS, '-inf', now_text, 'LIMIT', 0, MANY))
  local time, at_most, from = decode('>I7I4', settlement, 16)
  call('ZADD', RESULT_ENDS, string.format('%d', now + time), id)
  call('HSET', RESULTS, id, sub(settlement, from))
  local excess = call('ZCOUNT', RESULT_ENDS, '(' .. now_text, '+inf') - at_most
  if excess > 0 then
    drop_results(call('ZRANGEBYSCORE', RESULT_ENDS, '(' .. now_text, '+inf', 'LIMIT', 0, math.min(excess, MANY)))
  end
  local waiting = call('ZRANGE', marker, 0, -1)
  for k = 1, #waiting do
    -- If the user may not publish, processes poll by their timers.
    redis.pcall('PUBLISH', waiting[k], '0 ' .. marker)
  end
  if waiting[1] then
    call('ZREM', marker, unpack(waiting))
  end
end
