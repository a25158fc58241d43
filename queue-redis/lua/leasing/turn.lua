-- turn: settles, then leases, as two calls would (each tidies first). Settling alone asks for
-- none; leasing alone has no settlements.
--
-- ARGV[3] how many to lease at most, 0 for none
-- ARGV[4] how long, in ms
-- ARGV[5 …] settlements
-- Returns {answers, first token, ms until something changes by itself or -1, frame …}: the tokens
-- count up from the first; the time is there only when nothing is handed out.
local max, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])
local settlements = #ARGV - 4
local last_token = tonumber(meta[3]) or 0
local acked_before = acked
local answers, left, due_now = '', tidy(), false

if settlements > 0 then
  answers, due_now = settle(5, settlements)
  if max > 0 and (left or due_now) then
    tidy()
  end
end

local reply = { answers, 0, -1 }
local got = 0
if max > 0 and not meta[5] then
  local picked = pick(max)
  local frames = picked.frames
  got = #frames
  if got > 0 then
    local first = math.max(last_token + 1, now)
    local leases = {}
    for k = 1, got do
      leases[2 * k - 1] = now + ttl
      leases[2 * k] = id_of(frames[k]) .. pack('>I7', first + k - 1)
      reply[3 + k] = frames[k]
    end
    last_token = first + got - 1
    reply[2] = first
    keep(picked)
    call('ZADD', LEASES, unpack(leases))
  end
  drop(picked)
  -- Whoever leaves work behind wakes the next.
  if got > 0 and any_ready() then
    call('ZADD', ARRIVALS, 0, 'armed')
  end
  if got == 0 then
    local deadline = tonumber(call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')[2])
    local due = tonumber(call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')[2])
    local first = math.min(deadline or math.huge, due or math.huge)
    if first < math.huge then
      reply[3] = math.max(first - now, 0)
    end
  end
end

if got > 0 or acked > acked_before then
  call('HSET', META, 'token', last_token, 'acked', acked)
end
return reply
