-- schedule: puts messages in, each with its due time.
-- needs: ARRIVALS, FRAME, FRAMES, LINE, META, accepted, add_many, arm, duplicate_of, finish_terms
-- needs: mark, quiet_until, read_terms
-- gives: act
-- ARGV[3] how many messages
-- ARGV[4] 8 bytes for each: 0 and ms from now, or 1 and ms since 1970
-- ARGV[5 …] their payloads
-- ARGV[5 + messages …] what else the push says of messages, see `terms`
-- Returns the last id if all were accepted, which then have consecutive ids; or an array with the
-- id of each, negative for the first message's id of a duplicate. OOM: nothing was written.
local function act()
  local count, dues = tonumber(ARGV[3]), ARGV[4]
  read_terms(5 + count)
  local frames, places, ids, new, duplicates, first_due, ready = {}, {}, {}, 0, false, math.huge, 0
  for k = 1, count do
    local first = duplicate_of(k)
    if first then
      ids[k], duplicates = -first, true
    else
      local absolute, due = decode('>BI7', dues, 8 * k - 7)
      due = absolute == 1 and math.max(due, now) or now + due
      new = new + 1
      local id = pack('>I7', accepted + new)
      ids[k] = accepted + new
      frames[2 * new - 1] = id
      frames[2 * new] = pack(FRAME, 0, accepted + new, now) .. ARGV[4 + k]
      places[2 * new - 1] = due
      places[2 * new] = id
      first_due = math.min(first_due, due)
      ready = due <= now and ready + 1 or ready
      mark(k, accepted + new)
    end
  end
  if new > 0 then
    local head = tonumber(call('ZRANGE', LINE, 0, 0, 'WITHSCORES')[2])
    call('HINCRBY', META, 'accepted', new)
    call('HSET', FRAMES, unpack(frames))
    add_many(LINE, places)
    -- Tells those who sleep towards a later due time, or towards none (D5).
    if not head or first_due < head or ready > 0 then
      arm(ARRIVALS, math.max(1, ready))
    end
  end
  finish_terms()
  return duplicates and ids or accepted + new
end

if now < quiet_until then
  return act()
end
