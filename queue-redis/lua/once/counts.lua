-- counts: how many keys are claimed, and how many are done.
-- needs: CLAIMED, DONE
-- Returns both.
return { call('ZCOUNT', CLAIMED, '(' .. now_text, '+inf'), call('ZCOUNT', DONE, '(' .. now_text, '+inf') }
