-- Large items. A script pays for each byte of each string that it sees, so headers and body of 16 KiB and more
-- are in BODIES under a reference that the producer made up, and what stands there under the id tells the
-- reference (see src/frame.rs). They come and go as those of messages do (see `shared/bodies`).
-- needs: flags
-- gives: reference_of

-- Where the large body is that this stands for; false if this is headers and body. Nil in a ring that never
-- had a large item.
local reference_of = flags ~= '' and function(body)
  return byte(body, 1) == 2 and #body == 21 and sub(body, 6)
end or nil
