-- Whether a turn is what most turns are: it acks one message or none, leases one or none, and there is nothing
-- else to do or to know. Each function that follows costs such a turn as much as a command does.
-- needs: flags, meta, quiet_until
-- gives: ack, acked, last_token, makes_room, single, wants
-- ARGV: as for `turn`
local last_token, acked = tonumber(meta[5]) or 0, tonumber(meta[6]) or 0
if not (last_token >= 0 and last_token < 9007199254740000) then
  last_token = 0 -- damaged; the clock has passed those that were handed out
end
local ack = ARGV[6] and byte(ARGV[6], 1) == 97 and sub(ARGV[6], 2, 15)
local wants = ARGV[3] == '1' -- a message
local single = (ack or wants and not ARGV[6]) and not ARGV[7] and (wants or ARGV[3] == '0')
  and (flags == 'h' or flags .. ARGV[5] == '') and now < quiet_until
local makes_room = nil -- the marker of those who wait for a message to go
