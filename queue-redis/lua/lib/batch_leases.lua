-- A batch lease is one lease of several messages, which have consecutive tokens. Its member of LEASES consists of the
-- least id (7 bytes), the first token (7 bytes) and the number of messages (1 byte). All ids follow if they are not
-- consecutive, as ids of one pushed batch are.
-- BATCH_LEASES has the same member by the first token, so a receipt finds its batch lease. `uncounted` in META is the
-- number of messages that ZCARD of LEASES leaves out. FRAMES has three fields for it:
-- - the member            the elements that were taken out of READY
-- - 'h' and the member    the holder
-- - 'a' and the member    the indexes of the acked messages
--
-- A batch lease stays until all its messages are acked. Any other operation on one of them first gives the rest
-- leases of their own.
-- needs: FRAMES
-- gives: acked_of, has_index

-- The indexes of the acked messages: 1 byte each, 128 for the first.
local function acked_of(batch)
  return call('HGET', FRAMES, 'a' .. batch) or ''
end

-- Whether the k-th message of a batch lease is among `indexes`.
local function has_index(indexes, k)
  return string.find(indexes, string.char(127 + k), 1, true)
end

--- @part "count"
-- Counts leased messages.
-- needs: BATCH_LEASES, LEASES, META, acked_of
-- gives: count_leases

-- The number of live leases, and of all leases. If any lease has expired, this reads each batch lease, because
-- `uncounted` does not tell which batch leases have expired.
local function count_leases()
  local live = call('ZCOUNT', LEASES, '(' .. now_text, '+inf')
  local left_out = call('HGET', META, 'uncounted')
  local total, uncounted = call('ZCARD', LEASES), tonumber(left_out) or 0
  local rank, expired = 0, 0
  while live < total and uncounted > 0 do
    local batches = call('ZRANGE', BATCH_LEASES, rank, rank + 999)
    if not batches[1] then
      break
    end
    for k, deadline in ipairs(call('ZMSCORE', LEASES, unpack(batches))) do
      if deadline and tonumber(deadline) <= now then
        expired = expired + byte(batches[k], 15) - #acked_of(batches[k]) - 1
      end
    end
    rank = rank + 1000
  end
  return live + uncounted - expired, total + uncounted
end

--- @part "split"
-- Splits batch leases into single leases.
-- needs: BATCH_LEASES, FRAMES, LEASES, acked_of, add_to, frames_in_pack, has_index, hold, try
-- gives: frames_of, id_in, split_batch, split_batches
--- @include "lib/packs"
--- @include "lib/writes#add_to"

-- The id of the k-th message of a batch lease.
local function id_in(batch, k)
  return #batch > 15 and sub(batch, 7 * k + 9, 7 * k + 15) or pack('>I7', decode('>I7', batch) + k - 1)
end

-- The frames that FRAMES has for a batch lease, in order; none if they are damaged.
local function frames_of(batch)
  local kept = call('HGET', FRAMES, batch)
  local fine, elements = try(cmsgpack.unpack, kept or '')
  local frames = {}
  elements = fine and type(elements) == 'table' and elements or {}
  local at = 1
  while elements[at] do
    local own, used
    if frames_in_pack and type(elements[at]) == 'string' then
      own, used = frames_in_pack(elements[at], type(elements[at + 1]) == 'string' and elements[at + 1] or nil)
    end
    for _, frame in ipairs(own or { elements[at] }) do
      frames[#frames + 1] = frame
    end
    at = at + (used or 1)
  end
  return frames
end

-- Gives each message of a batch lease a lease of its own, except for the acked ones.
local function split_batch(batch)
  local _, first_token, count = decode('>I7I7B', batch)
  local expires, holder = call('ZSCORE', LEASES, batch), call('HGET', FRAMES, 'h' .. batch)
  local indexes, frames, kept, own = acked_of(batch), frames_of(batch), {}, {}
  for k = 1, expires and count or 0 do
    if not has_index(indexes, k) then
      local message = id_in(batch, k)
      own[#own + 1], own[#own + 2] = expires, message .. pack('>I7', first_token + k - 1)
      if type(frames[k]) == 'string' then
        kept[#kept + 1], kept[#kept + 2] = message, frames[k]
      end
      if holder then
        kept[#kept + 1], kept[#kept + 2] = 'h' .. message, holder
      end
    end
  end
  if kept[1] then
    call('HSET', FRAMES, unpack(kept))
  end
  if own[1] then
    call('ZADD', LEASES, unpack(own))
  end
  call('ZREM', LEASES, batch)
  call('ZREM', BATCH_LEASES, batch)
  call('HDEL', FRAMES, batch, 'h' .. batch, 'a' .. batch)
  add_to('uncounted', 1 + #indexes - count)
end

-- Splits the batch leases that these leases belong to. A grouped queue has none.
local function split_batches(members)
  if hold or call('EXISTS', BATCH_LEASES) == 0 then
    return
  end
  for k, own in ipairs(call('ZMSCORE', LEASES, unpack(members))) do
    local of_lease = decode('>I7', members[k], 8)
    local latest = string.format('%d', of_lease)
    local batch = not own and call('ZRANGE', BATCH_LEASES, latest, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1)[1]
    if batch then
      local first_token, count = decode('>I7B', batch, 8)
      if of_lease - first_token < count and id_in(batch, of_lease - first_token + 1) == sub(members[k], 1, 7) then
        split_batch(batch)
      end
    end
  end
end
