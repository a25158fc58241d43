-- find: finds out what became of messages, and changes none of them (L18).
-- KEYS[…] the queue's keys, see `{kind}/queue`, with those of its part `results`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3 …] ids
-- Returns {now}. Behind it, for each id: a letter, bytes, a time, and of a lease the token (7 bytes) and the holder
-- with the progress.
-- - r ready, e ready because its lease has expired: frame without content, 0
-- - d delayed, l leased: frame without content, due time or deadline
-- - x dead: record, with the frame without content, 0
-- - k done: result, 0
-- - g gone, n never existed: '', 0
-- needs: BATCH_LEASES, DEAD, DELAYED, FRAMES, LEASES, RECORD, RESULTS, RESULT_ENDS, accepted
-- needs: acked_of, after_state, frame_in_ready, frame_of, frames_of, has_index, id_in, is_valid, place_of, reclaim
-- needs: writable
--- @include "lib/call"
--- @include "{kind}/queue"
--- @include "lib/call#read_only"
--- @include "lib/config#state"

local function find()
  --- @include "lib/reclaim"
  --- @include "{kind}/queue#lookup"
  --- @include "{kind}/queue#results"
  --- @include "lib/dead_letters#read"

  local found = {} -- by id: the values of the reply

  -- Notes where a message is. A damaged frame is no message: the next call that reads it makes it a dead letter.
  local function note(id, letter, frame, time, lease)
    if not frame or not is_valid(frame, id) then
      found[id] = { 'x', pack(RECORD, now, 'd', 0) .. id, 0, '' }
      return
    end
    local length = after_state(frame) -- a frame has at least one byte of content
    if byte(frame, length) == 3 then
      length = length + 4 -- a state is shown by its length
    end
    found[id] = { letter, sub(frame, 1, length), math.max(math.min(time, 9007199254740991), 0), lease or '' }
  end

  -- Notes a dead letter, or a message that is not leased. Returns true if it is one.
  local function note_unleased(id)
    local key, member = place_of(id)
    if key then
      local due = key == DELAYED and tonumber(call('ZSCORE', key, member)) or 0
      note(id, due > now and 'd' or 'r', call('HGET', FRAMES, id), due > now and due or 0)
      return true
    elseif call('ZSCORE', DEAD, id) then
      local record = call('HGET', FRAMES, id) or ''
      local frame, instead = frame_of(id, record)
      if not frame then
        found[id] = { 'x', sub(instead, 1, 17), 0, '' }
        return true
      end
      note(id, 'x', frame, 0)
      found[id][2] = sub(record, 1, #record - #frame) .. found[id][2]
      return true
    end
    local frame = frame_in_ready(id)
    if frame then
      note(id, 'r', frame, 0)
    end
    return frame ~= nil
  end

  -- Notes those of the wanted messages that are leased. The leases are by deadline, so this reads them all.
  local function note_leased(wanted)
    local rank = 0
    while next(wanted) do
      local members = call('ZRANGE', LEASES, rank, rank + 999, 'WITHSCORES')
      if not members[1] then
        return
      end
      for k = 1, #members, 2 do
        local member, deadline = members[k], tonumber(members[k + 1])
        local is_batch = #member >= 15 and call('ZSCORE', BATCH_LEASES, member)
        for n = 1, is_batch and byte(member, 15) or #member == 14 and 1 or 0 do
          local id = is_batch and id_in(member, n) or sub(member, 1, 7)
          if wanted[id] and not (is_batch and has_index(acked_of(member), n)) then
            wanted[id] = nil
            local lease = pack('>I7', decode('>I7', member, 8) + n - 1)
              .. (call('HGET', FRAMES, 'h' .. (is_batch and member or id)) or '')
            local live = deadline > now
            local frame = is_batch and frames_of(member)[n] or call('HGET', FRAMES, id)
            note(id, live and 'l' or 'e', frame, live and deadline or 0, lease)
          end
        end
      end
      rank = rank + 1000
    end
  end

  if writable then
    reclaim()
  end
  local wanted = {}
  for k = 3, #ARGV do
    local number = decode('>I7', ARGV[k])
    if number == 0 or number > accepted then
      found[ARGV[k]] = { 'n', '', 0, '' }
    elseif not note_unleased(ARGV[k]) then
      wanted[ARGV[k]] = true
    end
  end
  note_leased(wanted)
  local reply = { now }
  for k = 3, #ARGV do
    local id = ARGV[k]
    if not found[id] then
      local ends_at = tonumber(call('ZSCORE', RESULT_ENDS, id) or 0)
      local result = ends_at > now and call('HGET', RESULTS, id)
      found[id] = result and { 'k', result, 0, '' } or { 'g', '', 0, '' }
    end
    for n = 1, 4 do
      reply[#reply + 1] = found[id][n]
    end
  end
  return reply
end

return find()
