-- needs: BODIES, DEDUP, ENDS, FIRSTS, FRAMES, META, UPLOADS, apart, clear_marks, expect, flags
-- gives: duplicate_of, finish_terms, first_ids, mark, read_terms, times_to_live, uploads, write_marks
--- @include "lib/writes#expect"
--- @include "lib/writes#clear_marks"
-- What a push says of some of its messages: dedup marks (L9), due times (D1), times to live (L17) and bodies
-- that are apart. DEDUP holds each dedup key by the end of its window, FIRSTS its first message's id.
-- ARGV[from …] are triples: entry's number, then window in ms and key (with a 'u' before the window if the
-- mark ends with the message, see `uniques`); or 'due' and the time (8 bytes: 0 and ms from now, or 1 and
-- ms since 1970); or 'live', and what becomes of the message (1 byte, see `ends`) after so many ms; or
-- 'body' and the reference of its body (see `bodies`). A handle that never pushed a dedup key, a time to live
-- or a large body leaves DEDUP and what follows it out of the KEYS.
-- Errors: QKUPLOAD  a body does not wait for its push; nothing was done.
local marks, times_to_live, uploads, first_ids, new_marks, new_firsts, new_ties, new_ends, new_bodies

-- The bodies stand last. A push that runs twice, since something on its way sent it again, finds them taken.
if UPLOADS and ARGV[#ARGV - 1] == 'body' then
  local references, at = {}, #ARGV
  while ARGV[at - 1] == 'body' do
    references[#references + 1], at = ARGV[at], at - 3
  end
  for _, waits in ipairs(call('ZMSCORE', UPLOADS, unpack(references))) do
    if not waits then
      return redis.error_reply('QKUPLOAD a body is not there: it was lost, or its push has run before')
    end
  end
  apart = true
end

-- Answers the due times of the entries that are due later than now, by their numbers; nil if no entry
-- says anything.
local function read_terms(from)
  if not ARGV[from] then
    return nil
  end
  marks, times_to_live, uploads = {}, {}, {} -- by the entries' numbers
  first_ids, new_marks, new_firsts, new_ties, new_ends, new_bodies = {}, {}, {}, {}, {}, {}
  local keys, due_times = {}, {}
  for k = from, #ARGV, 3 do
    local entry, what, value = tonumber(ARGV[k]), ARGV[k + 1], ARGV[k + 2]
    if what == 'due' then
      local absolute, due = decode('>BI7', value)
      due = absolute == 1 and due or now + due
      due_times[entry] = due > now and due or nil
    elseif what == 'live' then
      times_to_live[entry] = value
    elseif what == 'body' then
      uploads[entry] = value
    else
      local unique = byte(what, 1) == 117
      marks[entry] = { key = value, window = tonumber(unique and sub(what, 2) or what), unique = unique }
      keys[#keys + 1] = value
    end
  end
  local ends = keys[1] and call('ZMSCORE', DEDUP, unpack(keys))
  local ids = keys[1] and call('HMGET', FIRSTS, unpack(keys))
  for k = 1, #keys do
    -- A mark lives while now < its end. One whose id is damaged is none: better twice than never.
    if ends[k] and tonumber(ends[k]) > now and ids[k] and #ids[k] == 7 then
      first_ids[keys[k]] = (decode('>I7', ids[k]))
    end
  end
  return due_times
end

-- The first message's id, if this entry is a repeat.
local function duplicate_of(entry)
  local mark = marks and marks[entry]
  return mark and first_ids[mark.key]
end

-- Notes what is kept of this entry, which is accepted, beside the message.
local function mark(entry, id)
  local new, live, body = marks and marks[entry], marks and times_to_live[entry], marks and uploads[entry]
  if new then
    first_ids[new.key] = id
    new_marks[#new_marks + 1] = now + new.window
    new_marks[#new_marks + 1] = new.key
    new_firsts[#new_firsts + 1] = new.key
    new_firsts[#new_firsts + 1] = pack('>I7', id)
    if new.unique then
      new_ties[#new_ties + 1] = 'u' .. pack('>I7', id)
      new_ties[#new_ties + 1] = new.key
    end
  end
  if live then
    local over = now + tonumber(sub(live, 2))
    expect(over)
    new_ends[#new_ends + 1] = string.format('%d', over)
    new_ends[#new_ends + 1] = pack('>I7', id)
    new_ties[#new_ties + 1] = 'e' .. pack('>I7', id)
    new_ties[#new_ties + 1] = pack('>I7', over) .. sub(live, 1, 1)
  end
  if body then
    new_bodies[#new_bodies + 1], uploads[entry] = body, nil
    new_ties[#new_ties + 1] = 'b' .. pack('>I7', id)
    new_ties[#new_ties + 1] = body
  end
end

-- Written after the messages: a mark without its message would lose the next push.
local function write_marks()
  if marks and new_marks[1] then
    call('HSET', FIRSTS, unpack(new_firsts))
    call('ZADD', DEDUP, unpack(new_marks))
  end
  if marks and new_ties[1] then
    call('HSET', FRAMES, unpack(new_ties))
    for k = 1, #new_ties, 2 do
      local tie = sub(new_ties[k], 1, 1)
      if not string.find(flags, tie, 1, true) then
        flags = flags .. tie
        call('HSET', META, 'flags', flags)
      end
    end
    if new_ends[1] then
      call('ZADD', ENDS, unpack(new_ends))
    end
    if new_bodies[1] then
      call('ZREM', UPLOADS, unpack(new_bodies))
    end
  end
  if marks then
    new_marks, new_firsts, new_ties, new_ends, new_bodies = {}, {}, {}, {}, {}
  end
end

-- The last that a push does: there are marks to clear, and bodies of messages that it did not accept.
local function finish_terms()
  write_marks()
  local refused = {}
  for _, reference in pairs(uploads or {}) do
    refused[#refused + 1] = reference
  end
  if refused[1] then
    call('HDEL', BODIES, unpack(refused))
    call('ZREM', UPLOADS, unpack(refused))
  end
  if DEDUP then
    clear_marks()
  end
end

--- @part "delayed"
-- needs: ARRIVALS, DELAYED, FRAME, FRAMES, PAST, WITH_PAST, add_many, arm, expect
-- gives: delay_new
--- @include "lib/writes#add_many"
-- Messages that are pushed before they are due (D1).

-- Keeps these until they are due. An earlier first due time is told to those who sleep towards a later
-- one (D5). On a priority queue, each has its priority as a frame has it, and arrives when it is due.
local function delay_new(messages)
  local frames, places, arrived = {}, {}, false
  for k, message in ipairs(messages) do
    local id, due = pack('>I7', message.id), message.due
    local head = pack(FRAME, WITH_PAST, message.id, due, message.biased, due)
    frames[2 * k - 1], frames[2 * k] = id, head .. pack(PAST, 0, now, 0) .. message.payload
    places[2 * k - 1], places[2 * k] = due, id
    expect(due)
  end
  call('HSET', FRAMES, unpack(frames))
  add_many(DELAYED, places)
  local first = call('ZRANGE', DELAYED, 0, 0)[1]
  for k = 2, #places, 2 do
    arrived = arrived or places[k] == first
  end
  if arrived then
    arm(ARRIVALS, 1)
  end
end

--- @part "lined"
-- needs: FRAME, FRAMES, LINE, add_to
-- gives: line_new
--- @include "lib/writes#add_to"
-- Messages that are pushed to the tail, and whose place is not in READY, so that they can be taken out of
-- it in O(log n): those with a distinct key (B7) or a time to live (L17).

-- Puts this message at the tail of those that were accepted before.
local function line_new(id, payload)
  local member = pack('>I7', id)
  local before = pack('>I7', add_to('joins', 1))
  call('HSET', FRAMES, member, pack(FRAME, 0, id, now) .. payload, 'p' .. member, before)
  call('ZADD', LINE, id, before .. member)
end
