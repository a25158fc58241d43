-- What a push says of some of its messages: dedup marks (L9) and due times (D1). DEDUP holds each
-- dedup key by the end of its window, FIRSTS its first message's id.
-- ARGV[from …] are triples: entry's number, then window in ms and key (with a 'u' before the window if the
-- mark ends with the message, see `uniques`), or 'due' and the time (8 bytes: 0 and ms from now, or 1 and
-- ms since 1970). A handle that never pushed any dedup key leaves DEDUP and FIRSTS out of the KEYS.
-- needs: DEDUP, FIRSTS, FRAMES, META, clear_marks
-- gives: first_ids, read_terms, duplicate_of, mark, write_marks
local marks, first_ids, new_marks, new_firsts, new_uniques

-- Answers the due times of the entries that are due later than now, by their numbers; nil if no entry
-- says anything.
local function read_terms(from)
  if not ARGV[from] then
    return nil
  end
  marks, first_ids, new_marks, new_firsts, new_uniques = {}, {}, {}, {}, {}
  local keys, due_times = {}, {}
  for k = from, #ARGV, 3 do
    local entry, what, value = tonumber(ARGV[k]), ARGV[k + 1], ARGV[k + 2]
    if what == 'due' then
      local absolute, due = decode('>BI7', value)
      due = absolute == 1 and due or now + due
      due_times[entry] = due > now and due or nil
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

local function mark(entry, id)
  local new = marks and marks[entry]
  if new then
    first_ids[new.key] = id
    new_marks[#new_marks + 1] = now + new.window
    new_marks[#new_marks + 1] = new.key
    new_firsts[#new_firsts + 1] = new.key
    new_firsts[#new_firsts + 1] = pack('>I7', id)
    if new.unique then
      new_uniques[#new_uniques + 1] = 'u' .. pack('>I7', id)
      new_uniques[#new_uniques + 1] = new.key
    end
  end
end

-- Written after the messages: a mark without its message would lose the next push.
local function write_marks()
  if marks and new_marks[1] then
    call('HSET', FIRSTS, unpack(new_firsts))
    call('ZADD', DEDUP, unpack(new_marks))
    if new_uniques[1] then
      call('HSET', FRAMES, unpack(new_uniques))
      local known = call('HGET', META, 'flags') or ''
      if not string.find(known, 'u', 1, true) then
        call('HSET', META, 'flags', known .. 'u')
      end
    end
    new_marks, new_firsts, new_uniques = {}, {}, {}
  end
  if DEDUP then
    clear_marks()
  end
end
