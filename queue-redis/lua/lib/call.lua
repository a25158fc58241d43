-- call: the beginning of every script.
-- ARGV[1] the time in ms since 1970 if a clock is injected; '' for the server's clock; 'read' for the server's clock
--   and a caller who may not write
-- ARGV[2] the configuration that the caller's handle was opened with
-- Returns, instead of the script's own result: nil if the queue does not exist. Then nothing was done.
-- Errors: QKCONFIG  the queue is stored with another kind or layout. Nothing was done.
-- gives: CHUNK, MANY, byte, call, decode, now, now_micros, now_text, pack, sub
local call = redis.call
local byte, sub = string.byte, string.sub
local pack, decode = struct.pack, struct.unpack

local MANY = 128 -- messages that one call reclaims or promotes at most (L7)
local CHUNK = 16 -- frames that are read at a time: 16 large ones fit into memory

-- Times are in milliseconds, because Lua prints only 14 digits of a number that it joins to a text. On the fast path,
-- commands get numbers as text: printing a number costs the server as much as a small command.
local now = tonumber(ARGV[1])
local now_micros -- for tokens: after a lost history, a fine clock hardly gives out the same token again (R1)
if now then
  now_micros = now * 1000
else
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  now_micros = time[1] * 1000000 + time[2]
end
local now_text = string.format('%d', now)

--- @part "read_only"
-- The first write of a verb that only reads. It removes nothing; `lib/config` gives the reason. If the server refuses
-- writes for now, or the caller may not write, the verb does not reclaim, and replies with the stored state. The
-- refusal of a replica is an error, because its data may be old: the error leads the client to the primary. Other
-- errors are raised, too.
-- needs: ARRIVALS, META
-- gives: meta, writable
local writable = ARGV[1] ~= 'read'
local written = writable and redis.pcall('ZREM', ARRIVALS, '')
if type(written) == 'table' and written.err then
  if not (string.find(written.err, 'NOREPLICAS', 1, true) or string.find(written.err, 'MISCONF', 1, true)) then
    call('ZREM', ARRIVALS, '')
  end
  writable = false
end
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'next_due')
