local meta = call('HMGET', META, 'config', 'accepted')
