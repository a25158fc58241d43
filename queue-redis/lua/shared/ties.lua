-- What ends with a message, where any message has it: its time to live (L17), a dedup mark (L9), or a body
-- that is apart (see `bodies`). Such a queue needs DEDUP and the keys behind it in every call.
-- needs: DEDUP, flags
-- gives: limited, uniques, apart
-- Returns, instead of what the script says: KEYS if the caller shall send those keys, too, and then
-- nothing was done.
local limited, uniques, apart = false, false, false -- whether there ever was a time to live, such a mark or body
if flags ~= '' then
  limited = string.find(flags, 'e', 1, true) ~= nil
  uniques = string.find(flags, 'u', 1, true) ~= nil
  apart = string.find(flags, 'b', 1, true) ~= nil
  if (limited or uniques or apart) and not DEDUP then
    return redis.status_reply('KEYS')
  end
end
