-- peek: shows messages of one place, and changes none of them (L16).
-- KEYS[…] the queue's keys, see `{kind}/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] place: r ready, d delayed, l leased
-- ARGV[4] passed: the number of elements of READY that were shown, holes too; or the number of leased messages
-- ARGV[5] lined: the number of members of the other keys that were shown; of LEASES, before these leased messages
-- ARGV[6] limit: the number of messages at most
-- Returns {now, ARGV[4] of the next page or -1 at the end, ARGV[5] of the next page}. Behind them, for each message:
-- frame, due time or deadline (0 if ready), and of a lease the token (7 bytes) and the holder with the progress; then
-- the end of its time to live and its fate, as `lib/attachments` describes them, or ''.
-- needs: BATCH_LEASES, DELAYED, FRAMES, LEASES, acked_of, delayed_from, fields_of, fits, frames_of, has_index
-- needs: has_large, has_ttl, id_in, id_of, is_valid, reclaim, show, show_ready, size_of, writable
--- @include "lib/call"
--- @include "{kind}/queue"
--- @include "lib/call#read_only"
--- @include "lib/config#state"

local function peek()
  --- @include "lib/reclaim"
  --- @include "{kind}/queue#lookup"
  --- @include "lib/line#show"

  -- Leased messages. Each message of a batch lease is shown by itself.

  -- Reads leased messages from this rank in LEASES on, by (deadline, id). Each has its frame if a batch lease stores
  -- it, and the field of its holder. They end with a deadline, because batch leases of one deadline may overlap.
  -- Returns them, and the rank behind them.
  local function read_leased(rank)
    local next_ones, messages, last = call('ZRANGE', LEASES, rank, rank + CHUNK - 1, 'WITHSCORES'), 0, nil
    for k = 1, #next_ones, 2 do
      if messages < CHUNK then
        messages, last = messages + (byte(next_ones[k], 15) or 1), next_ones[k + 1]
      end
    end
    local found, behind = {}, last and call('ZCOUNT', LEASES, '-inf', last) or rank
    local members = behind > rank and call('ZRANGE', LEASES, rank, behind - 1, 'WITHSCORES') or {}
    for k = 1, #members, 2 do
      local member, deadline = members[k], tonumber(members[k + 1])
      local is_batch = #member >= 15 and call('ZSCORE', BATCH_LEASES, member)
      local frames, acked = is_batch and frames_of(member) or {}, is_batch and acked_of(member) or ''
      for n = 1, is_batch and byte(member, 15) or #member == 14 and 1 or 0 do
        local id = id_in(member, n)
        if #id == 7 and not has_index(acked, n) then
          found[#found + 1] = {
            deadline = deadline,
            id = id,
            number = decode('>I7', id),
            token = pack('>I7', decode('>I7', member, 8) + n - 1),
            frame = frames[n],
            holder = 'h' .. (is_batch and member or id),
          }
        end
      end
    end
    table.sort(found, function(one, other)
      if one.deadline ~= other.deadline then
        return one.deadline < other.deadline
      end
      return one.number < other.number
    end)
    return found, behind
  end

  -- Passes the leased messages to `take` by (deadline, id), with deadline, token (7 bytes) and holder. Begins behind
  -- `rank` members of LEASES and `passed` messages, and stops if `take` returns false. Returns the number of messages
  -- and the rank for that message; nil at the end.
  local function show_leased(passed, rank, take)
    while true do
      local leased, behind = read_leased(rank)
      if behind <= rank then
        return nil
      end
      for first = passed + 1, #leased, CHUNK do
        local last, fields = math.min(first + CHUNK - 1, #leased), {}
        for n = first, last do
          fields[#fields + 1], fields[#fields + 2] = leased[n].id, leased[n].holder
        end
        local kept = call('HMGET', FRAMES, unpack(fields))
        for n = first, last do
          local own, at = leased[n], 2 * (n - first) + 1
          local frame = own.frame or kept[at]
          -- Damaged messages are skipped.
          if type(frame) == 'string' and is_valid(frame, own.id)
            and not take(frame, own.deadline, own.token .. (kept[at + 1] or '')) then
            return n - 1, rank
          end
        end
      end
      passed, rank = 0, behind
    end
  end
  if writable then
    reclaim()
  end
  local limit, listed, lined = tonumber(ARGV[6]), tonumber(ARGV[4]), tonumber(ARGV[5])
  local reply, frames, ids, raw = { now, -1, 0 }, {}, {}, 0

  local function take(frame, time, lease)
    frames[#frames + 1] = frame
    raw = raw + (has_large and size_of(frame) or #frame)
    if #frames > limit or not fits(frames, raw) then
      return false
    end
    local at = #reply
    -- A damaged time is shown as the latest possible time.
    reply[at + 1], reply[at + 2] = frame, math.max(math.min(tonumber(time), 9007199254740991), 0)
    reply[at + 3], reply[at + 4] = lease or '', ''
    ids[#ids + 1] = id_of(frame)
    return true
  end

  local function take_ready(frame)
    return take(frame, 0)
  end

  local next_listed, next_lined
  if ARGV[3] == 'r' then
    next_listed, next_lined = show_ready(listed, lined, limit, take_ready)
  elseif ARGV[3] == 'd' then
    local ready = delayed_from()
    next_listed, next_lined = show(DELAYED, ready + lined, nil, take)
    next_lined = next_lined and next_lined - ready
  else
    next_listed, next_lined = show_leased(listed, lined, take)
  end
  for first = 1, has_ttl and #ids or 0, CHUNK do
    local some = { unpack(ids, first, math.min(first + CHUNK - 1, #ids)) }
    for k, kept in ipairs(call('HMGET', FRAMES, unpack(fields_of('e', some)))) do
      reply[3 + 4 * (first + k - 1)] = kept or ''
    end
  end
  reply[2], reply[3] = next_listed or -1, next_lined or 0
  return reply
end

return peek()
