-- Checks that the stored configuration fits the caller's, and reads the fields of META that every script needs. The
-- rest of a script uses the stored configuration: another program may have changed it since the handle was opened.
--
-- Scripts that free memory begin with a ZREM that removes nothing. A server over its `maxmemory` lets a script write
-- if its first write needs no memory. So consumers can empty a full queue (L12).
--
-- A new queue has a mark in its configuration, ` unlisted=<token>`, until it is in the list of queues. The list is in
-- another slot (see `src/queue/opening.rs`). Other queues pay nothing for the mark: the script looks for it only if
-- the configurations differ.
--
-- Returns, instead of the script's own result: `UNLISTED <token>` if the queue has the mark and the caller does not
-- send it. Then nothing was done.
-- Errors: QKDAMAGED  the stored configuration or the last id cannot be read. Nothing was done.
--         QKCONFIG  the configuration has a setting of a newer version. Nothing was done.
-- needs: META, meta
-- gives: accepted, config, flags
if meta[1] ~= ARGV[2] then
  if not meta[1] then
    return false
  end
  local kind_and_layout = '^kind=%S+ layout=%S+ '
  local mark = ' unlisted=(%x+)$'
  local own = ARGV[2] .. ' '
  local listed = string.gsub(meta[1], mark, '') .. ' '
  local shown = string.gsub(sub(listed, 1, math.min(#listed - 1, 200)), '[^%w%p ]', '?') -- errors are one line of text
  local found = string.match(listed, kind_and_layout)
  if found and found ~= string.match(own, kind_and_layout) then
    return redis.error_reply('QKCONFIG the queue is stored as [' .. shown .. '], this handle was opened as ['
      .. ARGV[2] .. ']: open it again')
  end
  local token = string.match(meta[1], mark)
  if found and token and not string.match(ARGV[2], mark) then
    return redis.status_reply('UNLISTED ' .. token)
  end
  -- Another handle may have added, changed or left out any setting. For each: its name, whether it may be left out, and
  -- the patterns of its values.
  local settings = {
    --- @settings
  }
  local rest, damaged = sub(listed, #(found or ' ')), not found -- begins and ends with a space
  for _, setting in ipairs(settings) do
    local entry, times = ' ' .. setting[1] .. '=', 0
    for k = 3, #setting do
      local stripped, matches = string.gsub(rest, entry .. setting[k] .. '%f[ ]', '')
      rest, times = stripped, times + matches
    end
    local is_missing = times == 0 and not setting[2] and string.find(own, entry, 1, true)
    damaged = damaged or is_missing or times > 1 or string.find(rest, entry, 1, true)
  end
  if damaged or string.gsub(rest, ' [%l_]+=[%w/_.-]+%f[ ]', '') ~= ' ' then
    return redis.error_reply('QKDAMAGED the field config of ' .. META .. ' is [' .. shown
      .. '], which queue-kit did not write')
  elseif rest ~= ' ' then
    return redis.error_reply('QKCONFIG the queue is stored with' .. sub(rest, 1, -2)
      .. ', which this version does not know: use a newer one, or have it reconfigure the queue without that')
  end
end
local config = meta[1] -- the stored configuration
local accepted = tonumber(meta[2] or 0) -- number of accepted messages, and the last id

-- With a wrong number, ids would be given twice, and messages overwritten.
if not (accepted and accepted >= 0 and accepted < 9007199254740000) then
  return redis.error_reply('QKDAMAGED the field accepted of ' .. META .. ' is not what queue-kit wrote')
end

-- Flags are letters for features that few queues use. Other queues pay for one field only.
-- - p  the queue is paused
-- - h  a lease had a holder's name, or progress
-- - u  a dedup mark was to end with its message
-- - e  a message had a time to live
-- - b  a message had a large body
-- - d  a message had a distinct key, on any but a bounded queue
-- - o  a message was cancelled in READY and left a hole
-- - k  there was a pack
-- - l  the configuration has limits, see `lib/limits`
-- - r  a group had a rate, see `grouped/queue#rates`
--
-- A flag is never removed, except for `p` and `l`.
local flags = meta[3] or ''

--- @part "store_flags"
-- needs: META
-- gives: store_flags

-- Stores these letters as the queue's flags.
local function store_flags(letters)
  if letters == '' then
    call('HDEL', META, 'flags')
  else
    call('HSET', META, 'flags', letters)
  end
end

--- @part "state"
-- Attachments are data that end with a message: its time to live (L17), its dedup mark (L9), and its large body (see
-- `lib/uploads`). If a queue ever had one, each call needs DEDUP and the keys behind it. So it does if a group had a
-- rate.
-- Returns, instead of the script's own result: KEYS if the caller must send these keys, too. Then nothing was done.
-- needs: DEDUP, UPLOADS, flags, meta
-- gives: has_large, has_ttl, has_unique, next_due
local has_ttl, has_unique, has_large = false, false, false -- whether a message ever had one
if flags ~= '' then
  has_ttl = string.find(flags, 'e', 1, true) ~= nil
  has_unique = string.find(flags, 'u', 1, true) ~= nil
  has_large = string.find(flags, 'b', 1, true) ~= nil
  local has_rates = string.find(flags, 'r', 1, true)
  if (has_ttl or has_unique or has_large or has_rates) and not DEDUP then
    return redis.status_reply('KEYS')
  end
end

-- `next_due` saves most calls the search for messages to reclaim, to promote or to end. META stores it: a time before
-- or at the first deadline in LEASES, due time in DELAYED and end in ENDS. A script that writes an earlier time
-- lowers `next_due`. A script that removes a time leaves it, because a search that finds nothing does no harm. The
-- first call after `next_due` searches, and stores the next time. While bodies wait in UPLOADS, which producers fill
-- without a script, each call searches.
local next_due = tonumber(meta[4]) or 0
if UPLOADS and call('EXISTS', UPLOADS) == 1 then
  next_due = 0
end
