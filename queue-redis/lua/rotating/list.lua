-- list: a page of items from the head on, moving nothing.
-- needs: BODIES, FRESH, RING, fits, pace, reference_of, size_of
-- ARGV[3] number of the last place read, 0 for the first page
-- ARGV[4] how many at most
-- Returns {number to go on after or -1 at the end, id, payload, …}.
local LAST = '9007199254740991' -- a damaged place behind it would begin the same page again
local limit = tonumber(ARGV[4])
local function after(key)
  return call('ZRANGEBYSCORE', key, '(' .. ARGV[3], LAST, 'WITHSCORES', 'LIMIT', 0, limit + 1)
end

local visited, fresh = after(RING), pace and after(FRESH) or {}
local reply, bodies, raw, last, v, f = { -1 }, {}, 0, -1, 1, 1
while visited[v] or fresh[f] do
  local id, place
  if not fresh[f] or (visited[v] and tonumber(visited[v + 1]) < tonumber(fresh[f + 1])) then
    id, place, v = visited[v], tonumber(visited[v + 1]), v + 2
  else
    id, place, f = fresh[f], tonumber(fresh[f + 1]), f + 2
  end
  local body = call('HGET', BODIES, id)
  local reference = reference_of and body and reference_of(body)
  -- What is damaged is not shown.
  if body and #id == 7 and not (reference and call('HEXISTS', BODIES, reference) == 0) then
    bodies[#bodies + 1] = body
    raw = raw + (reference and size_of(body) or #body)
    if #bodies > limit or not fits(bodies, raw) then
      -- A page that shows anything ends behind where it began.
      reply[1] = math.max(math.floor(last), ARGV[3] + 1)
      break
    end
    reply[#reply + 1] = id
    reply[#reply + 1] = body
    last = place
  end
end
return reply
