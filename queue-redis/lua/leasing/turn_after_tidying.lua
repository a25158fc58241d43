-- It was not quiet, or something is settled in another way than by ack.
return act(settle, tidy, tidy())
