-- Whether a turn is what most turns are: it acks one message or none, leases one, and there is nothing else
-- to do or to know. Each function that follows costs such a turn as much as a command does.
-- needs: flags, quiet_until
-- gives: ack, makes_room, single
-- ARGV: as for `turn`
local ack = ARGV[6] and byte(ARGV[6], 1) == 97 and sub(ARGV[6], 2, 15)
local single = ARGV[3] == '1' and not ARGV[7] and (ack or not ARGV[6]) and (flags == 'h' or flags .. ARGV[5] == '')
  and now < quiet_until and now + ARGV[4] >= quiet_until
local makes_room = nil -- the marker of those who wait for a message to go
