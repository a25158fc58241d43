-- Dedup marks (L9). DEDUP holds each key by the end of its window, FIRSTS its first message's id.
-- ARGV[from …] are triples: entry's number, window in ms, key. A handle that never pushed any
-- leaves DEDUP and FIRSTS out of the KEYS.
-- needs: DEDUP, FIRSTS
-- gives: read_marks, duplicate_of, mark, clear_marks, write_marks
local marks, first_ids, new_marks, new_firsts

local function read_marks(from)
  if not ARGV[from] then
    return
  end
  marks, first_ids, new_marks, new_firsts = {}, {}, {}, {}
  local keys = {}
  for k = from, #ARGV, 3 do
    marks[tonumber(ARGV[k])] = { key = ARGV[k + 2], window = tonumber(ARGV[k + 1]) }
    keys[#keys + 1] = ARGV[k + 2]
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

local function mark(entry, id)
  local new = marks and marks[entry]
  if new then
    first_ids[new.key] = id
    new_marks[#new_marks + 1] = now + new.window
    new_marks[#new_marks + 1] = new.key
    new_firsts[#new_firsts + 1] = new.key
    new_firsts[#new_firsts + 1] = pack('>I7', id)
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
local function write_marks()
  if marks and new_marks[1] then
    call('HSET', FIRSTS, unpack(new_firsts))
    call('ZADD', DEDUP, unpack(new_marks))
  end
  if DEDUP then
    clear_marks()
  end
end
