-- recent: shows the newest ready messages, newest first, and takes none (B6).
-- KEYS[…] the queue's keys, see `bounded/queue`
-- ARGV[1], ARGV[2] see `lib/call`
-- ARGV[3] max: the number of messages at most
-- Returns their frames.
-- needs: FRAMES, HEAD, ID, LINE, READY, fits, has_large, is_valid, reclaim, size_of, writable
--- @include "lib/call"
--- @include "{kind}/queue"
--- @include "lib/call#read_only"
--- @include "lib/config#state"

local function recent()
  --- @include "lib/reclaim"

  if writable then
    reclaim()
  end
  local max = tonumber(ARGV[3])
  local frames, raw, listed, at = {}, 0, 0, 1
  local tails, tail, more = {}, 0, true
  local line = call('ZREVRANGE', LINE, 0, max - 1, 'WITHSCORES')
  while #frames < max do
    if tail == 0 and more then
      local wanted = math.min(CHUNK, max - #frames)
      tails = call('LRANGE', READY, -listed - wanted, -listed - 1)
      tail, more = #tails, #tails == wanted
    end
    local frame, member = tails[tail], line[at]
    if not frame and not member then
      break
    end
    if frame and (#frame <= HEAD or byte(frame, 1) ~= 0) then
      tail, listed, frame = tail - 1, listed + 1, nil -- a hole, or damaged
    elseif frame and not (member and tonumber(line[at + 1]) >= decode('>I7', frame, ID)) then
      tail, listed = tail - 1, listed + 1
    else
      local id = sub(member, -7)
      frame = call('HGET', FRAMES, id)
      frame = frame and is_valid(frame, id) and frame
      at = at + 2
    end
    if frame then
      frames[#frames + 1] = frame
      raw = raw + (has_large and size_of(frame) or #frame)
      if not fits(frames, raw) then
        frames[#frames] = nil
        break
      end
    end
  end
  return frames
end

return recent()
