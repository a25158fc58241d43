-- What a push says of some of its messages: dedup marks (L9), due times (D1) and times to live (L17).
-- DEDUP holds each dedup key by the end of its window, FIRSTS its first message's id.
-- ARGV[from …] are triples: entry's number, then window in ms and key (with a 'u' before the window if the
-- mark ends with the message, see `uniques`); or 'due' and the time (8 bytes: 0 and ms from now, or 1 and
-- ms since 1970); or 'live', and what becomes of the message (1 byte, see `ends`) after so many ms. A
-- handle that never pushed a dedup key or a time to live leaves DEDUP, FIRSTS and ENDS out of the KEYS.
-- needs: DEDUP, ENDS, FIRSTS, FRAMES, META, clear_marks, expect, flags
-- gives: first_ids, read_terms, duplicate_of, mark, write_marks, times_to_live
local marks, times_to_live, first_ids, new_marks, new_firsts, new_ties, new_ends

-- Answers the due times of the entries that are due later than now, by their numbers; nil if no entry
-- says anything.
local function read_terms(from)
  if not ARGV[from] then
    return nil
  end
  marks, times_to_live = {}, {} -- by the entries' numbers
  first_ids, new_marks, new_firsts, new_ties, new_ends = {}, {}, {}, {}, {}
  local keys, due_times = {}, {}
  for k = from, #ARGV, 3 do
    local entry, what, value = tonumber(ARGV[k]), ARGV[k + 1], ARGV[k + 2]
    if what == 'due' then
      local absolute, due = decode('>BI7', value)
      due = absolute == 1 and due or now + due
      due_times[entry] = due > now and due or nil
    elseif what == 'live' then
      times_to_live[entry] = value
    else
      local unique = byte(what, 1) == 117
      marks[entry] = { key = value, window = tonumber(unique and sub(what, 2) or what), unique = unique }
      keys[#keys + 1] = value
    end
  end
  local ends = keys[1] and call('ZMSCORE', DEDUP, unpack(keys))
  local ids = keys[1] and call('HMGET', FIRSTS, unpack(keys))
  for k = 1, #keys do
    -- A mark lives while now < its end.
    if ends[k] and tonumber(ends[k]) > now then
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
  local new, live = marks and marks[entry], marks and times_to_live[entry]
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
  end
  if marks then
    new_marks, new_firsts, new_ties, new_ends = {}, {}, {}, {}
  end
  if DEDUP then
    clear_marks()
  end
end
