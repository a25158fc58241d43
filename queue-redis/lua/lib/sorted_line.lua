-- Lines of delay and priority queues.

--- @part "fast_lease"
-- The next messages of a queue whose line is LINE alone, for a usual turn: each is sound, was never tried before,
-- and its place is its id.
-- needs: BYTES, FRAMES, HEAD, ID, SINCE, TAGS, first_number, gapless, next_places, reply, size, taken, usual
while usual and taken < #next_places do
  local frames = call('HMGET', FRAMES, unpack(next_places, taken + 1, math.min(taken + CHUNK, #next_places)))
  for k = 1, #frames do
    local frame, place = frames[k], next_places[taken + 1]
    if not frame or #frame <= HEAD or byte(frame, 1) >= TAGS or sub(frame, ID, SINCE - 1) ~= place then
      usual = false
      break
    end
    taken, size = taken + 1, size + #frame
    reply[3 + taken] = frame
    local number = decode('>I7', place)
    gapless = gapless and number - (first_number or number) == taken - 1
    if not first_number or number < first_number then
      first_number = number
    end
  end
  usual = usual and size <= BYTES
end

--- @part "frames"
-- needs: FRAMES, apart, die, end_ties, fits, is_sound, leave_line, size_of
-- gives: drop, read_frames
--- @include "lib/frames#size"
--- @include "lib/frames#valid"
--- @include "lib/dead_letters"
--- @include "lib/line"
-- Reading messages whose place in LINE is a member that ends in the id.

-- The frames of these members and their ids, in their order, as many as one call may hand out. `damaged` are ids
-- and bytes of what is no message and stands among them: `drop` sets it aside.
local function read_frames(places)
  local frames, ids, members, damaged, raw = {}, {}, {}, {}, 0
  for first = 1, #places, CHUNK do
    local asked = {}
    for k = first, math.min(first + CHUNK - 1, #places) do
      asked[#asked + 1] = sub(places[k], -7)
    end
    local read = call('HMGET', FRAMES, unpack(asked))
    for k = 1, #asked do
      local frame, id = read[k], asked[k]
      if frame and is_sound(frame, id) then
        local got = #frames + 1
        frames[got], ids[got] = frame, id
        raw = raw + (apart and size_of(frame) or #frame)
        if not fits(frames, raw) then
          frames[got], ids[got] = nil, nil
          return { frames = frames, ids = ids, fresh = {}, members = members, damaged = damaged }
        end
      elseif #id == 7 then
        damaged[#damaged + 1] = { id, frame or '' }
      end
      members[#members + 1] = places[first + k - 1]
    end
  end
  return { frames = frames, ids = ids, fresh = {}, members = members, damaged = damaged }
end

-- Takes what was picked out of the line.
local function drop(picked)
  for _, each in ipairs(picked.damaged) do
    die(each[1], each[2], 'd', '')
    end_ties({ each[1] })
  end
  if picked.members[1] then
    leave_line(picked.members)
  end
end

--- @part "lookup"
-- needs: DELAYED, LINE, delayed_from, leave, place_of, show
-- gives: show_ready, withdraw
--- @include "lib/line#place_of"
--- @include "lib/line#show"
-- Taking a single message out and showing all, where the undelivered have places in sorted sets and what is
-- ready stands in LINE in delivery order.

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
