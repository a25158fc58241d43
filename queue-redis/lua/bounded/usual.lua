-- A usual turn of a bounded queue acks messages without distinct keys, and tells those who wait for room. Those of a
-- run have none.
-- needs: OWNED, ROOM, forgotten, makes_room, only_acks, plain, settlements, singles, usual
if only_acks and settlements > 0 then
  makes_room = ROOM
  if singles > 0 and call('EXISTS', OWNED) == 1 then
    for _, key in ipairs(call('HMGET', OWNED, unpack(forgotten))) do
      plain = plain and not key
    end
    usual = usual and plain
  end
end
