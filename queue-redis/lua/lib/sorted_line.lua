-- The line of a delay or priority queue: all ready messages are in LINE, in delivery order.

--- @part "fast_lease"
-- The next messages on the fast path. Each frame is valid, and each place is the plain id, so no message was retried
-- and none joined the tail.
-- needs: BYTES, FRAMES, HEAD, ID, SINCE, TAGS, fast, first_number, gapless, next_places, reply, size, taken
while fast and taken < #next_places do
  local frames = call('HMGET', FRAMES, unpack(next_places, taken + 1, math.min(taken + CHUNK, #next_places)))
  for k = 1, #frames do
    local frame, place = frames[k], next_places[taken + 1]
    if not frame or #frame <= HEAD or byte(frame, 1) >= TAGS or sub(frame, ID, SINCE - 1) ~= place then
      fast = false
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
  fast = fast and size <= BYTES
end

--- @part "frames"
-- Frames of members of LINE; each member ends in the id.
-- needs: FRAMES, add_dead_letter, end_attachments, fits, has_large, is_valid, remove_from_line, size_of
-- gives: read_frames, remove_picked
--- @include "lib/frames#size"
--- @include "lib/frames#valid"
--- @include "lib/dead_letters"
--- @include "lib/line"

-- Reads the frames of these members, as many as fit into one reply. Returns them with their ids, in order. `damaged`
-- are ids and bytes of damaged messages among them; `remove_picked` sets those aside.
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
      if frame and is_valid(frame, id) then
        local got = #frames + 1
        frames[got], ids[got] = frame, id
        raw = raw + (has_large and size_of(frame) or #frame)
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

-- Removes the picked messages from the line.
local function remove_picked(picked)
  for _, each in ipairs(picked.damaged) do
    add_dead_letter(each[1], each[2], 'd', '')
    end_attachments({ each[1] })
  end
  if picked.members[1] then
    remove_from_line(picked.members)
  end
end

--- @part "lookup"
-- One message by its id, and pages of ready messages.
-- needs: DELAYED, LINE, delayed_from, place_of, remove_place, show
-- gives: frame_in_ready, show_ready, withdraw
--- @include "lib/line#place_of"
--- @include "lib/line#show"

-- The frame of a message in READY: these kinds have no such list.
local function frame_in_ready()
  return nil
end

-- Removes an undelivered message from its place. Returns true if the queue had one with this id.
local function withdraw(id)
  local key, member = place_of(id)
  if key then
    remove_place(key, member)
  end
  return key ~= nil
end

-- Passes the ready messages to `take` in delivery order, from rank `lined` on. Stops if `take` returns false. Returns
-- 0 and the rank of that message; nil at the end.
local function show_ready(_, lined, _, take)
  return show(LINE, lined, DELAYED == LINE and delayed_from() or nil, take)
end
