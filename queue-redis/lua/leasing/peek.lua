-- peek: shows the messages of one place, and changes nothing of them (L16).
-- ARGV[3] the place: r ready, d delayed, l leased
-- ARGV[4] how many of READY were shown before, holes too; or how many leased messages
-- ARGV[5] how many members of the other keys were, before those leased messages
-- ARGV[6] how many to show at most
-- Returns {now, ARGV[4] of the next page or -1 if there is none, ARGV[5] of it}, and for each message: its
-- frame, when it is due or its lease ends (0 if it is ready), and of a lease token (7 bytes) and holder.
-- needs: DELAYED, FRAMES, LEASES, RUNS, acked_of, apart, delayed_from, fits, frames_of, has_place, id_in, is_sound
-- needs: show, show_ready, size_of, tidy, writable
--- @include "lib/call"
--- @include "{kind}/queue"
--- @include "lib/call#read_only"
--- @include "lib/config#state"
local function slow_path()
  --- @include "lib/reclaim"
  --- @include "{kind}/queue#lookup"
  --- @include "lib/line#show"
  -- Showing leased messages, those of runs one by one.

  -- Some leased messages from this rank in LEASES on, by (deadline, id): each with the frame if a run keeps it, and
  -- under
  -- what the holder's name is kept. They end with a deadline, since runs of one deadline may lie across each other. And
  -- the rank behind them.
  local function leased_from(rank)
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
      local is_run = #member >= 15 and call('ZSCORE', RUNS, member)
      local frames, acked = is_run and frames_of(member) or {}, is_run and acked_of(member) or ''
      for n = 1, is_run and byte(member, 15) or #member == 14 and 1 or 0 do
        local id = id_in(member, n)
        if #id == 7 and not has_place(acked, n) then
          found[#found + 1] = {
            deadline = deadline,
            id = id,
            number = decode('>I7', id),
            token = pack('>I7', decode('>I7', member, 8) + n - 1),
            frame = frames[n],
            holder = 'h' .. (is_run and member or id),
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

  -- Gives `take` the leased messages by (deadline, id) with deadline, token (7 bytes) and holder, behind so many
  -- members
  -- of LEASES and so many messages of the next ones, until it has enough. Answers how many those were, of messages
  -- first; nil at the end.
  local function show_leased(passed, rank, take)
    while true do
      local leased, behind = leased_from(rank)
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
          -- What is damaged is not shown.
          if type(frame) == 'string' and is_sound(frame, own.id)
            and not take(frame, own.deadline, own.token .. (kept[at + 1] or '')) then
            return n - 1, rank
          end
        end
      end
      passed, rank = 0, behind
    end
  end
  if writable then
    tidy()
  end
  local limit, listed, lined = tonumber(ARGV[6]), tonumber(ARGV[4]), tonumber(ARGV[5])
  local reply, frames, raw = { now, -1, 0 }, {}, 0

  local function take(frame, time, lease)
    frames[#frames + 1] = frame
    raw = raw + (apart and size_of(frame) or #frame)
    if #frames > limit or not fits(frames, raw) then
      return false
    end
    local at = #reply
    -- A damaged time is as late as any can be.
    reply[at + 1], reply[at + 2] = frame, math.max(math.min(tonumber(time), 9007199254740991), 0)
    reply[at + 3] = lease or ''
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
  reply[2], reply[3] = next_listed or -1, next_lined or 0
  return reply
end
return slow_path()
