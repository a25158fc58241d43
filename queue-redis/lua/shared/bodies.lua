-- Large bodies. A script pays for each byte of each string that it sees, so headers and body of 16 KiB and
-- more are in BODIES, by a reference that the producer made up; the frame says so in their place, and
-- FRAMES keeps the reference under 'b' and the id. A producer uploads a body before its push, without a
-- script, and notes the reference in UPLOADS before that; the push takes it out (see `terms`). Consumers
-- read BODIES without a script.
-- needs: BODIES, FRAMES, apart, fields_of, with_holders
-- gives: forget

-- These messages are gone for good, dead letters too: nothing is kept of them.
local function forget(ids)
  if apart then
    local fields, known, references = fields_of('b', ids), {}, {}
    for k, reference in ipairs(call('HMGET', FRAMES, unpack(fields))) do
      if reference then
        known[#known + 1], references[#references + 1] = fields[k], reference
      end
    end
    if known[1] then
      call('HDEL', BODIES, unpack(references))
      call('HDEL', FRAMES, unpack(known))
    end
  end
  call('HDEL', FRAMES, unpack(with_holders and with_holders(ids) or ids))
end
