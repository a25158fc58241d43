-- The rules of luacheck for the scripts as the server gets them: tests/lua.rs writes them to files, and runs luacheck.
std = 'lua51'
read_globals = { 'KEYS', 'ARGV', 'redis', 'struct', 'cjson', 'cmsgpack' }
-- Not every script uses each name that a file gives. A test beside the table of scripts checks that some script does.
ignore = {}
for line in io.popen('cat lua/*/*.lua'):lines() do
  for name in (line:match('^%-%- gives: (.*)') or ''):gmatch('[%w_]+') do
    table.insert(ignore, '2[13]1/^' .. name .. '$')
  end
end
