-- What ends with a message, where any message has it: its time to live (L17), or a dedup mark (L9). Such a
-- queue needs DEDUP, FIRSTS and ENDS in every call.
-- needs: DEDUP, flags
-- gives: limited, uniques
-- Returns, instead of what the script says: KEYS if the caller shall send those keys, too, and then
-- nothing was done.
local limited, uniques = false, false -- whether there ever was a time to live, or such a mark
if flags ~= '' then
  limited = string.find(flags, 'e', 1, true) ~= nil
  uniques = string.find(flags, 'u', 1, true) ~= nil
  if (limited or uniques) and not DEDUP then
    return redis.status_reply('KEYS')
  end
end
