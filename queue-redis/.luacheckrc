-- How luacheck reads the scripts as the server gets them: tests/lua.rs writes them out, and runs it.
std = 'lua51'
read_globals = { 'KEYS', 'ARGV', 'redis', 'struct', 'cjson', 'cmsgpack' }
-- What a file gives, not every script uses; that some script does is a test's beside the table.
ignore = {}
for line in io.popen('cat lua/*/*.lua'):lines() do
  for name in (line:match('^%-%- gives: (.*)') or ''):gmatch('[%w_]+') do
    table.insert(ignore, '2[13]1/^' .. name .. '$')
  end
end
