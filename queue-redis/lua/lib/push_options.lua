-- A push may give options for single messages: dedup marks (L9), due times (D1), times to live (L17), distinct keys
-- (B7) and references of large bodies. DEDUP has each dedup key by the end of its window, and FIRSTS the id of its
-- first message. DEDUP and the keys behind it are in KEYS only if the handle ever used such an option.
-- ARGV[options_at …] triples: the entry's number, and one of
-- - window in ms, dedup key; with 'u' before the window if the mark ends with the message
-- - 'due', time (8 bytes: 0 and ms from now, or 1 and ms since 1970)
-- - 'live', fate (1 byte, see `lib/attachments`) and ms until then
-- - 'key', distinct key; behind 'key' may follow the longest wait in ms: see `lib/distinct`
-- - 'body', reference
--
-- Errors: QKUPLOAD  a body is not uploaded. Nothing was done.
-- needs: BODIES, DEDUP, ENDS, FIRSTS, FRAMES, META, UPLOADS, clear_marks, due_times, flags, has_large
-- needs: lower_next_due, options_at
-- gives: distinct_keys, duplicate_of, find_duplicates, finish_options, longest_waits, mark, times_to_live, unmark
-- gives: uploads, write_marks
--- @include "lib/writes#lower_next_due"
--- @include "lib/writes#clear_marks"
local marks, times_to_live, uploads, distinct_keys, longest_waits = {}, {}, {}, {}, {} -- by entry
local dedup_keys, first_ids, new_marks, new_firsts, new_attachments, new_ends, new_bodies = {}, {}, {}, {}, {}, {}, {}

-- The references come last. If the network repeats a push, the second one finds the uploads taken, and fails.
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
  has_large = true
end

for k = options_at, #ARGV, 3 do
  local entry, what, value = tonumber(ARGV[k]), ARGV[k + 1], ARGV[k + 2]
  if what == 'due' then
    local absolute, due = decode('>BI7', value)
    due_times[entry] = absolute == 1 and due or now + due
  elseif what == 'live' then
    times_to_live[entry] = value
  elseif what == 'body' then
    uploads[entry] = value
  elseif sub(what, 1, 3) == 'key' then
    distinct_keys[entry], longest_waits[entry] = value, tonumber(sub(what, 4))
  else
    local unique = byte(what, 1) == 117
    marks[entry] = { key = value, window = tonumber(unique and sub(what, 2) or what), unique = unique }
    dedup_keys[#dedup_keys + 1] = value
  end
end

-- Reads the dedup marks of these entries.
local function find_duplicates()
  local ends = dedup_keys[1] and call('ZMSCORE', DEDUP, unpack(dedup_keys))
  local ids = dedup_keys[1] and call('HMGET', FIRSTS, unpack(dedup_keys))
  for k = 1, #dedup_keys do
    -- A mark lives while now < its end. A mark with a damaged id does not count: a message twice is better than none.
    if ends[k] and tonumber(ends[k]) > now and ids[k] and #ids[k] == 7 then
      first_ids[dedup_keys[k]] = (decode('>I7', ids[k]))
    end
  end
end

-- The id of the first message, if this entry is a duplicate.
local function duplicate_of(entry)
  local mark = marks[entry]
  return mark and first_ids[mark.key]
end

-- Notes the attachments of an accepted entry.
local function mark(entry, id)
  local new, live, body = marks[entry], times_to_live[entry], uploads[entry]
  if new then
    first_ids[new.key] = id
    new_marks[#new_marks + 1] = now + new.window
    new_marks[#new_marks + 1] = new.key
    new_firsts[#new_firsts + 1] = new.key
    new_firsts[#new_firsts + 1] = pack('>I7', id)
    if new.unique then
      new_attachments[#new_attachments + 1] = 'u' .. pack('>I7', id)
      new_attachments[#new_attachments + 1] = new.key
    end
  end
  if live then
    local ends_at = now + tonumber(sub(live, 2))
    lower_next_due(ends_at)
    new_ends[#new_ends + 1] = string.format('%d', ends_at)
    new_ends[#new_ends + 1] = pack('>I7', id)
    new_attachments[#new_attachments + 1] = 'e' .. pack('>I7', id)
    new_attachments[#new_attachments + 1] = pack('>I7', ends_at) .. sub(live, 1, 1)
  end
  if body then
    new_bodies[#new_bodies + 1], uploads[entry] = body, nil
    new_attachments[#new_attachments + 1] = 'b' .. pack('>I7', id)
    new_attachments[#new_attachments + 1] = body
  end
end

-- Writes marks and attachments, after the messages: a mark without its message would lose the next push.
local function write_marks()
  if new_marks[1] then
    call('HSET', FIRSTS, unpack(new_firsts))
    call('ZADD', DEDUP, unpack(new_marks))
  end
  if new_attachments[1] then
    call('HSET', FRAMES, unpack(new_attachments))
    for k = 1, #new_attachments, 2 do
      local letter = sub(new_attachments[k], 1, 1)
      if not string.find(flags, letter, 1, true) then
        flags = flags .. letter
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
  new_marks, new_firsts, new_attachments, new_ends, new_bodies = {}, {}, {}, {}, {}
end

-- Dedup keys whose marks ended make no duplicate of a later entry.
local function unmark(ended)
  for k = 1, #ended do
    first_ids[ended[k]] = nil
  end
end

-- Ends a push: removes old marks, and bodies of entries that were not accepted.
local function finish_options()
  write_marks()
  local refused = {}
  for _, reference in pairs(uploads) do
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
-- Messages that are pushed before they are due (D1).
-- needs: ARRIVALS, DELAYED, FRAME, FRAMES, PAST, WITH_PAST, add_many, lower_next_due, wake_up
-- gives: add_delayed
--- @include "lib/writes#add_many"

-- Stores messages among the delayed ones. Wakes up a process that sleeps until a later due time (D5). On a priority
-- queue, a frame has the priority, and arrives when it is due.
local function add_delayed(messages)
  local frames, places, arrived = {}, {}, false
  for k, message in ipairs(messages) do
    local id, due = pack('>I7', message.id), message.due
    local head = pack(FRAME, WITH_PAST, message.id, due, message.biased, due)
    frames[2 * k - 1], frames[2 * k] = id, head .. pack(PAST, 0, now, 0) .. message.payload
    places[2 * k - 1], places[2 * k] = due, id
    lower_next_due(due)
  end
  call('HSET', FRAMES, unpack(frames))
  add_many(DELAYED, places)
  local first = call('ZRANGE', DELAYED, 0, 0)[1]
  for k = 2, #places, 2 do
    arrived = arrived or places[k] == first
  end
  if arrived then
    wake_up(ARRIVALS, 1)
  end
end
