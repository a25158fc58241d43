local meta = call('HMGET', META, 'config', 'accepted', 'token', 'acked', 'paused')
