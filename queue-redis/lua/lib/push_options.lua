-- A push may give options for single messages: dedup marks (L9), due times (D1), times to live (L17) and references
-- of large bodies. DEDUP has each dedup key by the end of its window, and FIRSTS the id of its first message. DEDUP
-- and the keys behind it are in KEYS only if the handle ever used such an option.
-- ARGV[from …] triples: the entry's number, and one of
-- - window in ms, dedup key; with 'u' before the window if the mark ends with the message
-- - 'due', time (8 bytes: 0 and ms from now, or 1 and ms since 1970)
-- - 'live', fate (1 byte, see `lib/attachments`) and ms until then
-- - 'body', reference
--
-- Errors: QKUPLOAD  a body is not uploaded. Nothing was done.
-- needs: BODIES, DEDUP, ENDS, FIRSTS, FRAMES, META, UPLOADS, clear_marks, flags, has_large, lower_next_due
-- gives: duplicate_of, finish_options, first_ids, mark, read_options, times_to_live, uploads, write_marks
--- @include "lib/writes#lower_next_due"
--- @include "lib/writes#clear_marks"
local marks, times_to_live, uploads, first_ids, new_marks, new_firsts, new_attachments, new_ends, new_bodies

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

-- Reads the options from ARGV[from] on. Returns the due times after now, by entry; nil if there are no options.
local function read_options(from)
  if not ARGV[from] then
    return nil
  end
  marks, times_to_live, uploads = {}, {}, {} -- by entry
  first_ids, new_marks, new_firsts, new_attachments, new_ends, new_bodies = {}, {}, {}, {}, {}, {}
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
    -- A mark lives while now < its end. A mark with a damaged id does not count: a message twice is better than none.
    if ends[k] and tonumber(ends[k]) > now and ids[k] and #ids[k] == 7 then
      first_ids[keys[k]] = (decode('>I7', ids[k]))
    end
  end
  return due_times
end

-- The id of the first message, if this entry is a duplicate.
local function duplicate_of(entry)
  local mark = marks and marks[entry]
  return mark and first_ids[mark.key]
end

-- Notes the attachments of an accepted entry.
local function mark(entry, id)
  local new, live, body = marks and marks[entry], marks and times_to_live[entry], marks and uploads[entry]
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
  if marks and new_marks[1] then
    call('HSET', FIRSTS, unpack(new_firsts))
    call('ZADD', DEDUP, unpack(new_marks))
  end
  if marks and new_attachments[1] then
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
  if marks then
    new_marks, new_firsts, new_attachments, new_ends, new_bodies = {}, {}, {}, {}, {}
  end
end

-- Ends a push: removes old marks, and bodies of entries that were not accepted.
local function finish_options()
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

--- @part "tail"
-- Messages at the tail that are not in READY: messages with a distinct key (B7) or with a time to live (L17). They
-- are removed from LINE in O(log n).
-- needs: FRAME, FRAMES, LINE, add_to
-- gives: add_to_line
--- @include "lib/writes#add_to"

-- Stores a message behind all messages that were accepted before.
local function add_to_line(id, payload)
  local member = pack('>I7', id)
  local before = pack('>I7', add_to('joins', 1))
  call('HSET', FRAMES, member, pack(FRAME, 0, id, now) .. payload, 'p' .. member, before)
  call('ZADD', LINE, id, before .. member)
end
