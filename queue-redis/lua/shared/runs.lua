-- Runs. A run is one lease of several messages, which have consecutive tokens. Its member of LEASES is the least of
-- their ids (7 bytes), the first token (7 bytes), and how many they are (1 byte); and behind that their ids, if these
-- are not consecutive, as those of a pushed batch are. RUNS has the same member by the first token, so that a receipt
-- finds its run. FRAMES keeps under it the elements that were taken out of a list; under 'h' and it, who holds it; and
-- under 'a' and it, which of its messages are acked (see `run_acks`). META keeps, as `uncounted`, how many messages
-- ZCARD of LEASES leaves out. A run stays as it is until all its messages are acked; before anything else happens to
-- one of them, the others get leases of their own.
-- needs: FRAMES, LEASES, RUNS, acked_of, add_to, has_place, parts, try
-- gives: id_in, frames_of, break_up, separate

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
