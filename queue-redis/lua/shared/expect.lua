-- Noting when something is to be done (see `quiet`).
-- needs: META, quiet_until
-- gives: expect

-- At this time something is to be reclaimed, promoted or ended.
local function expect(time)
  if time < quiet_until then
    quiet_until = time
    call('HSET', META, 'quiet', string.format('%d', time))
  end
end
