-- A usual turn of a bounded queue acks messages without distinct keys, and tells those who wait for room.
-- needs: OWNED, ROOM, forgotten, makes_room, only_acks, plain, settlements, usual
if only_acks and settlements > 0 then
  makes_room = ROOM
  if call('EXISTS', OWNED) == 1 then
    for _, key in ipairs(call('HMGET', OWNED, unpack(forgotten))) do
      plain = plain and not key
    end
    usual = usual and plain
  end
end
