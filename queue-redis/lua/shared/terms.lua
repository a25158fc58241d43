-- What a push says of some of its messages: dedup marks (L9) and due times (D1). DEDUP holds each
-- dedup key by the end of its window, FIRSTS its first message's id.
-- ARGV[from …] are triples: entry's number, then window in ms and key (with a 'u' before the window if the
-- mark ends with the message, see `uniques`), or 'due' and the time (8 bytes: 0 and ms from now, or 1 and
-- ms since 1970). A handle that never pushed any dedup key leaves DEDUP and FIRSTS out of the KEYS.
-- needs: DEDUP, FIRSTS, FRAMES, META
-- gives: time_of, read_terms, duplicate_of, due_of, mark, forget_marks, clear_marks, write_new_marks
-- gives: write_marks
local marks, first_ids, new_marks, new_firsts, new_uniques, due_times

-- The time that 8 of these bytes name, and never one that is over.
local function time_of(times, at)
  local absolute, time = decode('>BI7', times, at)
  return absolute == 1 and math.max(time, now) or now + time
end

local function read_terms(from)
  if not ARGV[from] then
    return
  end
  marks, first_ids, new_marks, new_firsts, new_uniques, due_times = {}, {}, {}, {}, {}, {}
  local keys = {}
  for k = from, #ARGV, 3 do
    local entry, what, value = tonumber(ARGV[k]), ARGV[k + 1], ARGV[k + 2]
    if what == 'due' then
      due_times[entry] = time_of(value, 1)
    else
      local unique = byte(what, 1) == 117
      marks[entry] = { key = value, window = tonumber(unique and sub(what, 2) or what), unique = unique }
      keys[#keys + 1] = value
    end
  end
  if not keys[1] then
    return
  end
  local ends = call('ZMSCORE', DEDUP, unpack(keys))
  local ids = call('HMGET', FIRSTS, unpack(keys))
  for k = 1, #keys do
    -- A mark lives while now < its end.
    if ends[k] and tonumber(ends[k]) > now then
      first_ids[keys[k]] = (decode('>I7', ids[k]))
    end
  end
end

-- The first message's id, if this entry is a repeat.
local function duplicate_of(entry)
  local mark = marks and marks[entry]
  return mark and first_ids[mark.key]
end

-- When this entry is due, if that is later than now.
local function due_of(entry)
  local due = due_times and due_times[entry]
  return due and due > now and due
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

-- The marks of these keys have ended: they make no duplicate of a later entry.
local function forget_marks(keys)
  for k = 1, #keys do
    if first_ids then
      first_ids[keys[k]] = nil
    end
  end
end

-- Clears away dedup marks whose window is over, as many as one call may.
local function clear_marks()
  local over = call('ZRANGEBYSCORE', DEDUP, '-inf', now_text, 'LIMIT', '0', MANY)
  if over[1] then
    call('HDEL', FIRSTS, unpack(over))
    call('ZREM', DEDUP, unpack(over))
  end
end

-- Written after the messages: a mark without its message would lose the next push.
local function write_new_marks()
  if marks and new_marks[1] then
    call('HSET', FIRSTS, unpack(new_firsts))
    call('ZADD', DEDUP, unpack(new_marks))
    if new_uniques[1] then
      call('HSET', FRAMES, unpack(new_uniques))
      call('HSET', META, 'uniques', 1)
    end
    new_marks, new_firsts, new_uniques = {}, {}, {}
  end
end

local function write_marks()
  write_new_marks()
  if DEDUP then
    clear_marks()
  end
end
