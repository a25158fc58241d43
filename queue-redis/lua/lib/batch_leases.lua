-- Which messages of a run (see `runs`) are acked, by their places in it: 1 byte each, 128 for the first, under 'a' and
-- the run in FRAMES.
-- needs: FRAMES
-- gives: acked_of, has_place
local function acked_of(run)
  return call('HGET', FRAMES, 'a' .. run) or ''
end

-- Whether the message in this place is one of them.
local function has_place(places, k)
  return string.find(places, string.char(127 + k), 1, true)
end

--- @part "count"
-- Counting leased messages. A run is one member of LEASES, whatever it leases; META has how many messages that leaves
-- out. Which of them are of runs that have expired is seen only by looking at each run, where any lease has.
-- needs: LEASES, META, RUNS, acked_of
-- gives: count_leases

-- How many messages have live leases, and how many have any.
local function count_leases()
  local live, left_out = call('ZCOUNT', LEASES, '(' .. now_text, '+inf'), call('HGET', META, 'uncounted')
  local total, uncounted = call('ZCARD', LEASES), tonumber(left_out) or 0
  local rank, over = 0, 0
  while live < total and uncounted > 0 do
    local runs = call('ZRANGE', RUNS, rank, rank + 999)
    if not runs[1] then
      break
    end
    for k, deadline in ipairs(call('ZMSCORE', LEASES, unpack(runs))) do
      if deadline and tonumber(deadline) <= now then
        over = over + byte(runs[k], 15) - #acked_of(runs[k]) - 1
      end
    end
    rank = rank + 1000
  end
  return live + uncounted - over, total + uncounted
end

--- @part "separate"
-- needs: FRAMES, LEASES, RUNS, acked_of, add_to, has_place, parts, try
-- gives: break_up, frames_of, id_in, separate
--- @include "lib/packs"
--- @include "lib/writes#add_to"
-- Runs. A run is one lease of several messages, which have consecutive tokens. Its member of LEASES is the least of
-- their ids (7 bytes), the first token (7 bytes), and how many they are (1 byte); and behind that their ids, if these
-- are not consecutive, as those of a pushed batch are. RUNS has the same member by the first token, so that a receipt
-- finds its run. FRAMES keeps under it the elements that were taken out of a list; under 'h' and it, who holds it; and
-- under 'a' and it, which of its messages are acked (see `run_acks`). META keeps, as `uncounted`, how many messages
-- ZCARD of LEASES leaves out. A run stays as it is until all its messages are acked; before anything else happens to
-- one of them, the others get leases of their own.

-- The id of a run's message in this place.
local function id_in(run, k)
  return #run > 15 and sub(run, 7 * k + 9, 7 * k + 15) or pack('>I7', decode('>I7', run) + k - 1)
end

-- The frames of a run that are kept with it, in order; what somebody damaged is none.
local function frames_of(run)
  local kept = call('HGET', FRAMES, run)
  local fine, elements = try(cmsgpack.unpack, kept or '')
  local frames = {}
  elements = fine and type(elements) == 'table' and elements or {}
  local at = 1
  while elements[at] do
    local own, used
    if parts and type(elements[at]) == 'string' then
      own, used = parts(elements[at], type(elements[at + 1]) == 'string' and elements[at + 1] or nil)
    end
    for _, frame in ipairs(own or { elements[at] }) do
      frames[#frames + 1] = frame
    end
    at = at + (used or 1)
  end
  return frames
end

-- Gives each message of a run a lease of its own, but for those that are acked.
local function break_up(run)
  local _, first_token, count = decode('>I7I7B', run)
  local over, holder = call('ZSCORE', LEASES, run), call('HGET', FRAMES, 'h' .. run)
  local places, frames, kept, own = acked_of(run), frames_of(run), {}, {}
  for k = 1, over and count or 0 do
    if not has_place(places, k) then
      local message = id_in(run, k)
      own[#own + 1], own[#own + 2] = over, message .. pack('>I7', first_token + k - 1)
      if type(frames[k]) == 'string' then
        kept[#kept + 1], kept[#kept + 2] = message, frames[k]
      end
      if holder then
        kept[#kept + 1], kept[#kept + 2] = 'h' .. message, holder
      end
    end
  end
  if kept[1] then
    call('HSET', FRAMES, unpack(kept))
  end
  if own[1] then
    call('ZADD', LEASES, unpack(own))
  end
  call('ZREM', LEASES, run)
  call('ZREM', RUNS, run)
  call('HDEL', FRAMES, run, 'h' .. run, 'a' .. run)
  add_to('uncounted', 1 + #places - count)
end

-- Breaks up the runs that these leases belong to.
local function separate(members)
  if call('EXISTS', RUNS) == 0 then
    return
  end
  for k, own in ipairs(call('ZMSCORE', LEASES, unpack(members))) do
    local of_lease = decode('>I7', members[k], 8)
    local latest = string.format('%d', of_lease)
    local run = not own and call('ZRANGE', RUNS, latest, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1)[1]
    if run then
      local first_token, count = decode('>I7B', run, 8)
      if of_lease - first_token < count and id_in(run, of_lease - first_token + 1) == sub(members[k], 1, 7) then
        break_up(run)
      end
    end
  end
end
