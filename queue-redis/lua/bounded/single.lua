-- A single turn of a bounded queue acks a message that has no distinct key, and tells who waits for room.
-- needs: OWNED, ROOM, ack, makes_room, single
if single and ack then
  single = call('HEXISTS', OWNED, sub(ack, 1, 7)) == 0
  makes_room = ROOM
end
