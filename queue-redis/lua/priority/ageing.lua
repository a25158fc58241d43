local ageing = tonumber(string.match(ARGV[2], 'ageing=(%d+)'))
