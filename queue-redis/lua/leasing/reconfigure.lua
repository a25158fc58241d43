-- reconfigure: stores another configuration, and trims the dead letters to its cap, as far as one call may.
-- needs: META, config, in_line, tidy, trim
-- ARGV[3] the configuration; '' to go on trimming by the stored one
-- ARGV[4] not used, see `rotating/reconfigure`
-- Returns how many dead letters are left to trim; or -n if another ageing is refused, since n messages
-- are ready, in an order by the old one.
tidy()
if ARGV[3] ~= '' then
  local ready = in_line()
  if ready > 0 and string.match(config, 'ageing=%S+') ~= string.match(ARGV[3], 'ageing=%S+') then
    return -ready
  end
  config = ARGV[3] .. (string.match(config, ' unlisted=%x+$') or '') -- the mark stays, see `config`
  call('HSET', META, 'config', config)
end
return trim()
