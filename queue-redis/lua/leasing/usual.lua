-- Whether a turn is what most turns are: it settles by acks alone, it leases to nobody whose name is new here, and
-- there is nothing else to do or to know. The files that follow do such a turn without functions, each of which
-- costs it as much as a command does; and what else comes goes the long way, behind them.
-- needs: flags, meta, quiet_until
-- gives: acked, acked_places, deadline, ending, first_number, for_several, forgotten, frames_back, gapless
-- gives: last_token, makes_room, named, only_acks, plain, reply, runs, settlements, singles, size, taken
-- gives: taken_elements, taken_packed, token, lease_time, usual, wants
-- ARGV: as for `settle_and_lease`
local last_token, acked = tonumber(meta[5]) or 0, tonumber(meta[6]) or 0
if not (last_token >= 0 and last_token < 9007199254740000) then
  last_token = 0 -- damaged; the clock has passed those that were handed out
end
local wants, lease_time, settlements = tonumber(ARGV[3]), tonumber(ARGV[4]), #ARGV - 6
local for_several = wants < 0 -- callers
wants = for_several and -wants or wants
local only_acks = now < quiet_until
-- What ends: of runs, those in these places, '' for all; single leases, and the ids of their messages. Tables begin
-- with room for one message, so that they do not grow for it.
local runs, acked_places, singles, ending, forgotten = nil, nil, 0, { nil }, { nil, nil }
for k = 1, settlements do
  local settlement = ARGV[6 + k]
  local what = byte(settlement, 1)
  if what == 65 or what == 66 then
    local run_ends = 16 + (what == 66 and 7 * byte(settlement, 16) or 0)
    runs, acked_places = runs or {}, acked_places or {}
    runs[k], acked_places[k] = sub(settlement, 2, run_ends), sub(settlement, run_ends + 1)
  else
    only_acks = only_acks and what == 97
    singles = singles + 1
    ending[singles], forgotten[singles] = sub(settlement, 2, 15), sub(settlement, 2, 8)
  end
end
-- Whether any lease had a holder's name, and whether nothing else goes with a message.
local named, plain = false, true
if flags ~= '' then
  named, plain = string.find(flags, 'h', 1, true) ~= nil, not string.find(flags, '[^hk]')
end
local usual = only_acks and plain and (named or ARGV[5] == '')
local makes_room = nil -- the marker of those who wait for messages to go
-- What is leased: so many messages, their bytes, the answer; the least of their numbers, and whether each has the
-- number behind that of the one before it.
local taken, size, reply, first_number, gapless = 0, 0, { '', 0, -1, nil }, nil, true
-- Of a list: how many elements of READY these are; if packs are among them, what META's `packed` changes by; and frames
-- that go back there, the last first.
local taken_elements, taken_packed, frames_back = 0, nil, nil
-- One for each µs (Token::PER_MILLI): fewer, and a busy queue would run ahead of the clock, and after a failover
-- hand out the tokens of the lost history again (R1).
local token = math.max(last_token + 1, now_micros)
local deadline = wants > 0 and string.format('%d', now + lease_time)
