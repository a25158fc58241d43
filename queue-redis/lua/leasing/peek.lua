-- peek: shows the messages of one place, and changes nothing of them (L16).
-- needs: DELAYED, apart, delayed_from, fits, show, show_leased, show_ready, size_of, tidy, writable
-- ARGV[3] the place: r ready, d delayed, l leased
-- ARGV[4] how many of READY were shown before, holes too; or how many leased messages
-- ARGV[5] how many members of the other keys were, before those leased messages
-- ARGV[6] how many to show at most
-- Returns {now, ARGV[4] of the next page or -1 if there is none, ARGV[5] of it}, and for each message: its
-- frame, when it is due or its lease ends (0 if it is ready), and of a lease token (7 bytes) and holder.
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
