-- Every script begins here.
-- ARGV[1] the time in ms since 1970 if a clock is injected, '' for the server's
-- ARGV[2] the configuration that the caller's handle was opened with
-- Returns, instead of what the script says: nil if the queue does not exist (never opened, or the
-- server was flushed), and then nothing was done.
-- Errors: QKCONFIG  it is stored with another kind or layout; nothing was done.
-- gives: CHUNK, MANY, byte, call, decode, now, now_micros, now_text, pack, sub
local call = redis.call
local byte, sub = string.byte, string.sub
local pack, decode = struct.pack, struct.unpack

local MANY = 128 -- how many messages one call reclaims or promotes (L7)
local CHUNK = 16 -- how many bodies are read at a time, so that large ones fit

-- Milliseconds only: numbers of more than 14 digits do not survive concatenation. Numbers that
-- commands get on the usual path are strings, since each number costs the server as much to print
-- as a small command.
local now = tonumber(ARGV[1])
local now_micros -- for tokens: the finer, the less likely does a lost history hand out one again (R1)
if now then
  now_micros = now * 1000
else
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  now_micros = time[1] * 1000000 + time[2]
end
local now_text = string.format('%d', now)

--- @part "read_only"
-- What `drainable` does, for a verb that only reads: where the server takes no writes for now, it
-- leaves out the tidying and answers by what is stored. Not on a replica: its data may be old, and
-- the error leads the client to the primary. What else is wrong is told as by `drainable`.
-- needs: ARRIVALS, META
-- gives: meta, writable
local writable = true
local written = redis.pcall('ZREM', ARRIVALS, '')
if type(written) == 'table' and written.err then
  if not (string.find(written.err, 'NOREPLICAS', 1, true) or string.find(written.err, 'MISCONF', 1, true)) then
    call('ZREM', ARRIVALS, '')
  end
  writable = false
end
local meta = call('HMGET', META, 'config', 'accepted', 'flags', 'quiet')
